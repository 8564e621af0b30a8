/* One block of points put into a log: what every step of a training writes. The layout is that of store/layout.py, little endian. */
#include "native.h"

#include <string.h>
#include <time.h>
#ifdef _WIN32
#include <process.h>
#define getpid _getpid
#else
#include <unistd.h>
#endif

enum { HEADER = 16, STEP = 8, POINT = 12, USED_AT = 8 };

static void put_record(char *to, uint32_t length, uint16_t kind, int64_t step) {
    struct timespec now;
    double seconds;
    uint16_t spare = 0;
    timespec_get(&now, TIME_UTC);
    seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
    memcpy(to, &length, 4), memcpy(to + 4, &kind, 2), memcpy(to + 6, &spare, 2), memcpy(to + 8, &seconds, 8), memcpy(to + HEADER, &step, 8);
}

static int put_pair(char *to, PyObject *pair) {
    PyObject *number, *value;
    uint32_t series;
    double point;
    if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2) {
        PyErr_SetString(PyExc_TypeError, "a point is (series, value)");
        return -1;
    }
    number = PyTuple_GET_ITEM(pair, 0), value = PyTuple_GET_ITEM(pair, 1);
    series = (uint32_t)PyLong_AsUnsignedLong(number), point = PyFloat_AsDouble(value);
    memcpy(to, &series, 4), memcpy(to + 4, &point, 8);
    return PyErr_Occurred() ? -1 : 0;
}

PyObject *put_points(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs) {
    Py_buffer map;
    Py_ssize_t at, size, n, length;
    int failed = 0;
    const uint16_t one = 1;
    if (*(const char *)&one != 1) return PyLong_FromLong(0); /* big-endian: struct in Python writes it as the layout has it */
    if (nargs != 7 || !PyList_CheckExact(args[6])) return PyErr_Format(PyExc_TypeError, "put_points(map, at, size, pid, kind, step, pairs)");
    if (PyLong_AsLong(args[3]) != (long)getpid()) return PyErr_Occurred() ? NULL : PyLong_FromLong(-1);
    at = PyLong_AsSsize_t(args[1]), size = PyLong_AsSsize_t(args[2]), n = PyList_GET_SIZE(args[6]);
    length = HEADER + STEP + n * POINT;
    if (PyErr_Occurred()) return NULL;
    if (at + length > size) return PyLong_FromLong(0);
    if (PyObject_GetBuffer(args[0], &map, PyBUF_WRITABLE) < 0) return NULL;
    if (map.len < at + length) failed = 1, PyErr_SetString(PyExc_ValueError, "the map is shorter than said");
    for (Py_ssize_t i = 0; i < n && !failed; i++) failed = put_pair((char *)map.buf + at + HEADER + STEP + i * POINT, PyList_GET_ITEM(args[6], i));
    if (!failed) {
        uint64_t used = (uint64_t)(at + length);
        put_record((char *)map.buf + at, (uint32_t)length, (uint16_t)PyLong_AsLong(args[4]), PyLong_AsLongLong(args[5]));
        failed = PyErr_Occurred() != NULL;
        if (!failed) memcpy((char *)map.buf + USED_AT, &used, 8); /* published last: a reader sees whole records alone */
    }
    PyBuffer_Release(&map);
    return failed ? NULL : PyLong_FromSsize_t(at + length);
}
