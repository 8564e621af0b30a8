/* Reader: finds the memory behind torch tensors and NumPy arrays and runs the statistics over it.
 *
 * A tensor is read only when all of this holds, asked of the tensor itself each time (through DLPack where the library has it): its type is one that was handed in, it is strided, on the CPU, of a
 * known dtype and contiguous. Everything else is left to the caller (its index is returned). Nothing is ever written to an array.
 */
#include "native.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "statistics.h"

/* What DLPack (version 1) says of a tensor, and the table of functions by which a library says it without a call into Python. */
typedef struct {
    void *data;
    int32_t device, device_id, ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} Described;

typedef int (*Describe)(void *tensor, Described *out);

typedef struct {
    uint32_t major, minor;
    void *older, *allocate, *from_object, *to_object;
    Describe describe;
} Exchange;

enum { CPU = 1, FLOAT = 2, BFLOAT = 4 };

#define LARGE (1 << 18) /* bytes from which on other threads may run meanwhile */

typedef struct {
    PyObject_HEAD
    PyObject *types;   /* tuple of tensor types; empty while torch is not imported */
    PyObject *strided; /* torch.strided */
    PyObject *kinds;   /* dict: torch dtype -> kind */
    Describe describe; /* NULL where the library offers none: then the tensor's attributes are asked */
} Reader;

typedef struct {
    const void *data;
    int64_t count;
    int kind;
    PyObject *held;   /* keeps the memory alive */
    Py_buffer buffer; /* of a NumPy array */
    char buffered;
} View;

static PyObject *s_layout, *s_dtype, *s_is_cpu, *s_is_contiguous, *s_numel, *s_data_ptr, *s_grad;

static void let_go(View *v) {
    if (v->buffered) PyBuffer_Release(&v->buffer);
    Py_CLEAR(v->held);
    v->buffered = 0;
}

static int64_t number_from(PyObject *object, PyObject *method) { /* -1 when it can't be had */
    PyObject *got = PyObject_CallMethodNoArgs(object, method);
    int64_t number = got && PyLong_Check(got) ? PyLong_AsLongLong(got) : -1;
    Py_XDECREF(got);
    return number;
}

static int is_attribute(PyObject *object, PyObject *name, PyObject *expected) {
    PyObject *got = PyObject_GetAttr(object, name);
    Py_XDECREF(got); /* compared by identity only */
    return got != NULL && got == expected;
}

/* The same asked of DLPack: a tenth of the time of asking attributes. 1 when the tensor can be read. */
static int view_described(Reader *self, PyObject *tensor, View *v) {
    Described d;
    memset(&d, 0, sizeof d);
    if (self->describe(tensor, &d) != 0 || d.device != CPU || d.lanes != 1) return 0;
    v->kind = d.code == FLOAT ? (d.bits == 32 ? FLOAT32 : d.bits == 64 ? FLOAT64 : d.bits == 16 ? FLOAT16 : -1) : d.code == BFLOAT && d.bits == 16 ? BFLOAT16 : -1;
    v->count = 1;
    for (int32_t i = d.ndim - 1; i >= 0 && v->kind >= 0; i--) {
        if (d.shape[i] > 1 && d.strides != NULL && d.strides[i] != v->count) v->kind = -1;
        v->count *= d.shape[i];
    }
    if (v->kind < 0 || (d.data == NULL && v->count > 0)) return 0;
    v->data = (const char *)d.data + d.byte_offset;
    v->held = Py_NewRef(tensor);
    return 1;
}

/* 1 when the tensor can be read; a new reference to it is held. */
static int view_tensor(Reader *self, PyObject *tensor, View *v) {
    PyObject *dtype, *kind, *contiguous;
    if (self->describe != NULL) return view_described(self, tensor, v);
    if (!is_attribute(tensor, s_layout, self->strided) || !is_attribute(tensor, s_is_cpu, Py_True)) return 0;
    dtype = PyObject_GetAttr(tensor, s_dtype);
    if (dtype == NULL) return 0;
    kind = PyDict_GetItemWithError(self->kinds, dtype);
    Py_DECREF(dtype);
    if (kind == NULL) return 0;
    contiguous = PyObject_CallMethodNoArgs(tensor, s_is_contiguous);
    Py_XDECREF(contiguous);
    if (contiguous != Py_True) return 0;
    v->count = number_from(tensor, s_numel);
    if (v->count < 0) return 0;
    v->data = (const void *)(uintptr_t)number_from(tensor, s_data_ptr);
    if (PyErr_Occurred() || (v->data == NULL && v->count > 0)) return 0;
    v->kind = (int)PyLong_AsLong(kind);
    v->held = Py_NewRef(tensor);
    return 1;
}

static int view_buffer(PyObject *array, View *v) {
    const char *format;
    if (!PyObject_CheckBuffer(array)) return 0;
    if (PyObject_GetBuffer(array, &v->buffer, PyBUF_FORMAT | PyBUF_ND | PyBUF_C_CONTIGUOUS) < 0) return 0;
    v->buffered = 1;
    format = v->buffer.format ? v->buffer.format : "B";
    v->kind = strcmp(format, "f") == 0 ? FLOAT32 : strcmp(format, "d") == 0 ? FLOAT64 : strcmp(format, "e") == 0 ? FLOAT16 : -1;
    if (v->kind < 0) {
        let_go(v);
        return 0;
    }
    v->data = v->buffer.buf;
    v->count = v->buffer.len / item_size[v->kind];
    return 1;
}

static int view(Reader *self, PyObject *array, View *v) {
    int found = 0;
    PyObject *type = (PyObject *)Py_TYPE(array);
    memset(v, 0, sizeof *v);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->types) && !found; i++) found = PyTuple_GET_ITEM(self->types, i) == type;
    found = found ? view_tensor(self, array, v) : view_buffer(array, v);
    if (!found) PyErr_Clear(); /* what can't be read here is the caller's */
    return found;
}

/* Views of all that can be read; `left` gets the indices of the others. Returns the number of arrays, or -1. */
static Py_ssize_t views(Reader *self, PyObject *arrays, int gradients, View **out, PyObject **left, int64_t *bytes) {
    PyObject *list = PySequence_Fast(arrays, "a list of arrays is wanted");
    Py_ssize_t n;
    if (list == NULL) return -1;
    n = PySequence_Fast_GET_SIZE(list);
    *left = PyList_New(0);
    *out = PyMem_Calloc(n ? n : 1, sizeof(View));
    *bytes = 0;
    for (Py_ssize_t i = 0; *left && *out && i < n; i++) {
        PyObject *array = PySequence_Fast_GET_ITEM(list, i), *index;
        View *v = *out + i;
        Py_INCREF(array);
        if (gradients) {
            PyObject *grad = PyObject_GetAttr(array, s_grad);
            Py_DECREF(array);
            array = grad;
        }
        if (array == Py_None) {
            v->kind = -1; /* no gradient: neither read nor left */
        } else if (array != NULL && view(self, array, v)) {
            *bytes += v->count * item_size[v->kind];
        } else {
            PyErr_Clear();
            v->kind = -1;
            index = PyLong_FromSsize_t(i);
            if (index == NULL || PyList_Append(*left, index) < 0) Py_CLEAR(*left);
            Py_XDECREF(index);
        }
        Py_XDECREF(array);
    }
    Py_DECREF(list);
    if (*left && *out) return n;
    Py_CLEAR(*left);
    PyMem_Free(*out);
    return -1;
}

static void free_views(View *v, Py_ssize_t n) {
    for (Py_ssize_t i = 0; i < n; i++) let_go(v + i);
    PyMem_Free(v);
}

/* A writable buffer of n doubles. */
static double *doubles(PyObject *object, Py_ssize_t n, Py_buffer *buffer) {
    if (PyObject_GetBuffer(object, buffer, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0) return NULL;
    if (buffer->len < n * (Py_ssize_t)sizeof(double)) {
        PyBuffer_Release(buffer);
        PyErr_SetString(PyExc_ValueError, "out is too small");
        return NULL;
    }
    return buffer->buf;
}

static PyObject *reader_statistics(Reader *self, PyObject *const *args, Py_ssize_t nargs) {
    View *v;
    PyObject *left;
    Py_buffer buffer;
    double *out;
    int64_t bytes;
    Py_ssize_t n;
    if (nargs != 3) return PyErr_Format(PyExc_TypeError, "statistics(arrays, out, gradients) takes 3 arguments");
    if ((n = views(self, args[0], PyObject_IsTrue(args[2]) == 1, &v, &left, &bytes)) < 0) return NULL;
    if ((out = doubles(args[1], n * COLUMNS, &buffer)) == NULL) {
        free_views(v, n);
        Py_DECREF(left);
        return NULL;
    }
    PyThreadState *state = bytes >= LARGE ? PyEval_SaveThread() : NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        if (v[i].kind >= 0) statistics_of(v[i].kind, v[i].data, v[i].count, out + i * COLUMNS);
    if (state) PyEval_RestoreThread(state);
    PyBuffer_Release(&buffer);
    free_views(v, n);
    return left;
}

static PyObject *reader_sentinel(Reader *self, PyObject *const *args, Py_ssize_t nargs) {
    View *v;
    PyObject *left;
    double norm = 0;
    int64_t bytes, bad = 0, first = -1;
    Py_ssize_t n;
    if (nargs != 2) return PyErr_Format(PyExc_TypeError, "sentinel(arrays, gradients) takes 2 arguments");
    if ((n = views(self, args[0], PyObject_IsTrue(args[1]) == 1, &v, &left, &bytes)) < 0) return NULL;
    PyThreadState *state = bytes >= LARGE ? PyEval_SaveThread() : NULL;
    for (Py_ssize_t i = 0; i < n; i++) {
        double one;
        int64_t wrong;
        if (v[i].kind < 0) continue;
        sentinel_of(v[i].kind, v[i].data, v[i].count, &one, &wrong);
        norm = joined(norm, one);
        if (wrong && first < 0) first = i;
        bad += wrong;
    }
    if (state) PyEval_RestoreThread(state);
    free_views(v, n);
    return Py_BuildValue("(dLLN)", norm, (long long)bad, (long long)first, left);
}

static PyObject *reader_distances(Reader *self, PyObject *const *args, Py_ssize_t nargs) {
    View *a, *b = NULL;
    PyObject *left, *other = NULL;
    Py_buffer buffer;
    double *out = NULL;
    int64_t bytes, more;
    Py_ssize_t n, m;
    if (nargs != 3) return PyErr_Format(PyExc_TypeError, "distances(arrays, others, out) takes 3 arguments");
    if ((n = views(self, args[0], 0, &a, &left, &bytes)) < 0) return NULL;
    m = views(self, args[1], 0, &b, &other, &more);
    if (m == n) {
        out = doubles(args[2], n, &buffer);
    } else if (m >= 0) {
        PyErr_SetString(PyExc_ValueError, "as many arrays are wanted on either side");
    }
    if (out) {
        PyThreadState *state = bytes >= LARGE ? PyEval_SaveThread() : NULL;
        for (Py_ssize_t i = 0; i < n; i++)
            out[i] = a[i].kind >= 0 && a[i].kind == b[i].kind && a[i].count == b[i].count ? distance_of(a[i].kind, a[i].data, b[i].data, a[i].count)
                                                                                          : (double)NAN;
        if (state) PyEval_RestoreThread(state);
        PyBuffer_Release(&buffer);
    }
    free_views(a, n);
    if (m >= 0) free_views(b, m);
    Py_XDECREF(other);
    Py_DECREF(left);
    if (out == NULL) return NULL;
    Py_RETURN_NONE;
}

static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    PyObject *types, *strided, *kinds, *exchange = NULL;
    Reader *self;
    if (!PyArg_ParseTuple(args, "O!OO!|O", &PyTuple_Type, &types, &strided, &PyDict_Type, &kinds, &exchange)) return NULL;
    if ((self = (Reader *)type->tp_alloc(type, 0)) == NULL) return NULL;
    if (exchange != NULL && PyCapsule_IsValid(exchange, "dlpack_exchange_api")) {
        Exchange *table = PyCapsule_GetPointer(exchange, "dlpack_exchange_api");
        self->describe = table != NULL && table->major == 1 ? table->describe : NULL;
    }
    self->types = Py_NewRef(types), self->strided = Py_NewRef(strided), self->kinds = Py_NewRef(kinds);
    return (PyObject *)self;
}

static int reader_traverse(Reader *self, visitproc visit, void *arg) {
    Py_VISIT(self->types);
    Py_VISIT(self->strided);
    Py_VISIT(self->kinds);
    return 0;
}

static int reader_clear(Reader *self) {
    Py_CLEAR(self->types);
    Py_CLEAR(self->strided);
    Py_CLEAR(self->kinds);
    return 0;
}

static void reader_dealloc(Reader *self) {
    PyObject_GC_UnTrack(self);
    reader_clear(self);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef methods[] = {
    {"statistics", (PyCFunction)(void (*)(void))reader_statistics, METH_FASTCALL,
     "statistics(arrays, out, gradients) -> indices that were not read\n\nout gets sum, norm, low, high, zeros, non-finite count of each array, or of each .grad."},
    {"sentinel", (PyCFunction)(void (*)(void))reader_sentinel, METH_FASTCALL,
     "sentinel(arrays, gradients) -> (norm, non-finite count, index of the first array that holds one or -1, indices that were not read)"},
    {"distances", (PyCFunction)(void (*)(void))reader_distances, METH_FASTCALL,
     "distances(arrays, others, out): out gets the norm of the difference of each pair, NaN where one can't be read"},
    {NULL, NULL, 0, NULL}};

PyTypeObject ReaderType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "sabueso._native.Reader",
    .tp_basicsize = sizeof(Reader),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Reader(tensor types, torch.strided, {dtype: kind}, DLPack's exchange table): statistics over the memory of tensors and arrays",
    .tp_new = reader_new,
    .tp_dealloc = (destructor)reader_dealloc,
    .tp_traverse = (traverseproc)reader_traverse,
    .tp_clear = (inquiry)reader_clear,
    .tp_methods = methods,
};

int reader_ready(void) {
    const char *names[] = {"layout", "dtype", "is_cpu", "is_contiguous", "numel", "data_ptr", "grad"};
    PyObject **held[] = {&s_layout, &s_dtype, &s_is_cpu, &s_is_contiguous, &s_numel, &s_data_ptr, &s_grad};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((*held[i] = PyUnicode_InternFromString(names[i])) == NULL) return -1;
    return PyType_Ready(&ReaderType);
}
