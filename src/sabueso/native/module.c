/* sabueso._native: what must be cheap in every step, or must leave no frame. The package works without it. */
#include "native.h"

/* peek(address, bytes) and poke(address, bytes): for the states of random generators, whose layout capture/randomness.py proves first. */
static PyObject *peek(PyObject *Py_UNUSED(module), PyObject *args) {
    unsigned long long address;
    Py_ssize_t size;
    if (!PyArg_ParseTuple(args, "Kn", &address, &size)) return NULL;
    return PyBytes_FromStringAndSize((const char *)(uintptr_t)address, size);
}

static PyObject *poke(PyObject *Py_UNUSED(module), PyObject *args) {
    unsigned long long address;
    Py_buffer held;
    if (!PyArg_ParseTuple(args, "Ky*", &address, &held)) return NULL;
    memcpy((void *)(uintptr_t)address, held.buf, held.len);
    PyBuffer_Release(&held);
    Py_RETURN_NONE;
}

/* gather(((address, bytes), ..)) -> bytes: several peeks in one. */
static PyObject *gather(PyObject *Py_UNUSED(module), PyObject *places) {
    char found[512];
    Py_ssize_t used = 0;
    if (!PyTuple_CheckExact(places)) return PyErr_Format(PyExc_TypeError, "gather takes a tuple of (address, size)");
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(places); i++) {
        unsigned long long address;
        Py_ssize_t size;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(places, i), "Kn", &address, &size)) return NULL;
        if (size < 0 || used + size > (Py_ssize_t)sizeof found) return PyErr_Format(PyExc_ValueError, "gather reads at most %zd bytes", sizeof found);
        memcpy(found + used, (const void *)(uintptr_t)address, size);
        used += size;
    }
    return PyBytes_FromStringAndSize(found, used);
}

static PyMethodDef functions[] = {{"peek", peek, METH_VARARGS, "peek(address, size) -> bytes"},
                                  {"poke", poke, METH_VARARGS, "poke(address, bytes)"},
                                  {"gather", gather, METH_O, "gather(((address, size), ..)) -> bytes, 512 at most"},
                                  {"stack_of", stack_of, METH_O, "stack_of(thread) -> [frame, ..], innermost first, in one go"},
                                  {"locals_of", locals_of, METH_O, "locals_of(frame) -> its f_locals, without a collection"},
                                  {"put_points", (PyCFunction)(void (*)(void))put_points, METH_FASTCALL,
                                   "put_points(map, at, size, pid, kind, step, [(series, value), ..]) -> where the next record goes\n\n0: no room; -1: another process."},
                                  {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "sabueso._native", NULL, -1, functions, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__native(void) {
    PyObject *module;
    if (around_ready() < 0 || guard_ready() < 0 || reader_ready() < 0) return NULL;
    if ((module = PyModule_Create(&definition)) == NULL) return NULL;
    if (PyModule_AddObjectRef(module, "Around", (PyObject *)&AroundType) < 0 || PyModule_AddObjectRef(module, "Guard", (PyObject *)&GuardType) < 0 ||
        PyModule_AddObjectRef(module, "Reader", (PyObject *)&ReaderType) < 0) {
        Py_DECREF(module);
        return NULL;
    }
    return module;
}
