/* Around: a function with something before and after it, and no Python frame between the caller and the function.
 *
 * All that is asked of it, attributes, hash, equality, repr, is answered by the function; so what looks at functions (inspect, functools, pickle,
 * dispatch tables) sees the one that was there before. An Exception in `before` or `after` is dropped; what is none (Ctrl-C) passes on.
 */
#include "native.h"

typedef struct {
    PyObject_HEAD
    PyObject *function, *before, *after; /* before and after may be NULL */
    PyObject *weak;
    vectorcallfunc call;
} Around;

static PyObject *s_module, *s_qualname, *s_wrapped, *s_get;

/* (args, kwargs) as a Python function would get them. */
static int gather(PyObject *const *args, Py_ssize_t positional, PyObject *names, PyObject **tuple, PyObject **dict) {
    Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    *tuple = PyTuple_New(positional);
    *dict = PyDict_New();
    if (*tuple == NULL || *dict == NULL) goto failed;
    for (Py_ssize_t i = 0; i < positional; i++) PyTuple_SET_ITEM(*tuple, i, Py_NewRef(args[i]));
    for (Py_ssize_t i = 0; i < named; i++)
        if (PyDict_SetItem(*dict, PyTuple_GET_ITEM(names, i), args[positional + i]) < 0) goto failed;
    return 0;
failed:
    Py_CLEAR(*tuple);
    Py_CLEAR(*dict);
    return -1;
}

/* 0 when the error may be dropped (and is). */
static int survived(void) {
    if (PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear();
        return 0;
    }
    return -1;
}

static PyObject *around_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names) {
    Around *self = (Around *)object;
    PyObject *tuple = NULL, *dict = NULL, *token = NULL, *result = NULL, *told;
    PyObject *function = self->function, *before = self->before, *after = self->after;
    Py_ssize_t positional = PyVectorcall_NARGS(nargsf);
    if (before == NULL && after == NULL) return PyObject_Vectorcall(function, args, nargsf, names);
    Py_INCREF(function); /* the call may drop us */
    Py_XINCREF(before);
    Py_XINCREF(after);
    if (before) {
        if (gather(args, positional, names, &tuple, &dict) < 0) {
            if (survived() < 0) goto done;
        } else {
            token = PyObject_CallFunctionObjArgs(before, tuple, dict, NULL);
            if (token == NULL && survived() < 0) goto done;
        }
    }
    result = PyObject_Vectorcall(function, args, nargsf, names);
    if (result && after) {
        if (tuple || gather(args, positional, names, &tuple, &dict) == 0) {
            told = PyObject_CallFunctionObjArgs(after, token ? token : Py_None, result, tuple, dict, NULL);
            if (told == NULL && survived() < 0) Py_CLEAR(result);
            Py_XDECREF(told);
        } else if (survived() < 0) {
            Py_CLEAR(result);
        }
    }
done:
    Py_XDECREF(tuple);
    Py_XDECREF(dict);
    Py_XDECREF(token);
    Py_DECREF(function);
    Py_XDECREF(before);
    Py_XDECREF(after);
    return result;
}

static PyObject *around_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    static char *names[] = {"function", "before", "after", NULL};
    PyObject *function, *before = Py_None, *after = Py_None;
    Around *self;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OO", names, &function, &before, &after)) return NULL;
    if (!PyCallable_Check(function)) return PyErr_Format(PyExc_TypeError, "a callable is wanted, not %R", function);
    if ((self = (Around *)type->tp_alloc(type, 0)) == NULL) return NULL;
    self->function = Py_NewRef(function);
    self->before = before == Py_None ? NULL : Py_NewRef(before);
    self->after = after == Py_None ? NULL : Py_NewRef(after);
    self->call = around_call;
    return (PyObject *)self;
}

/* Bound as the function would be: a builtin in a class does not bind. */
static PyObject *around_get(PyObject *object, PyObject *instance, PyObject *owner) {
    if (instance == NULL || instance == Py_None || Py_TYPE(((Around *)object)->function)->tp_descr_get == NULL) return Py_NewRef(object);
    return PyMethod_New(object, instance);
}

/* Ours are __wrapped__, __get__ and what pickle asks for; the rest is the function's. */
static PyObject *around_getattro(PyObject *object, PyObject *name) {
    PyObject *own, *function = ((Around *)object)->function;
    if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) return Py_NewRef(function);
    if (PyUnicode_CompareWithASCIIString(name, "__get__") == 0 || PyUnicode_CompareWithASCIIString(name, "__call__") == 0 ||
        PyUnicode_CompareWithASCIIString(name, "__reduce__") == 0 || PyUnicode_CompareWithASCIIString(name, "__reduce_ex__") == 0)
        return PyObject_GenericGetAttr(object, name);
    own = PyObject_GetAttr(function, name);
    return own;
}

static int around_setattro(PyObject *object, PyObject *name, PyObject *value) {
    return PyObject_SetAttr(((Around *)object)->function, name, value);
}

static PyObject *around_repr(PyObject *object) { return PyObject_Repr(((Around *)object)->function); }

static Py_hash_t around_hash(PyObject *object) { return PyObject_Hash(((Around *)object)->function); }

static PyObject *around_compare(PyObject *a, PyObject *b, int operation) {
    PyObject *left = Py_IS_TYPE(a, &AroundType) ? ((Around *)a)->function : a;
    PyObject *right = Py_IS_TYPE(b, &AroundType) ? ((Around *)b)->function : b;
    return PyObject_RichCompare(left, right, operation);
}

/* Pickled by name where the name leads here, as functions are; else the function itself travels. */
static PyObject *around_reduce(PyObject *object, PyObject *Py_UNUSED(args)) {
    Around *self = (Around *)object;
    PyObject *module = NULL, *home = NULL, *qualname = NULL, *found = NULL, *itself, *result;
    module = PyObject_GetAttr(self->function, s_module);
    qualname = PyObject_GetAttr(self->function, s_qualname);
    if (module && qualname && PyUnicode_Check(module) && PyUnicode_Check(qualname)) {
        home = PyImport_GetModule(module);
        found = home ? PyObject_GetAttr(home, qualname) : NULL;
    }
    PyErr_Clear();
    if (found == object) {
        result = Py_NewRef(qualname);
    } else {
        PyObject *ours = PyImport_ImportModule("sabueso.capture.around");
        itself = ours ? PyObject_GetAttrString(ours, "_itself") : NULL;
        Py_XDECREF(ours);
        result = itself ? Py_BuildValue("(N(O))", itself, self->function) : NULL;
    }
    Py_XDECREF(module);
    Py_XDECREF(home);
    Py_XDECREF(qualname);
    Py_XDECREF(found);
    return result;
}

static int around_traverse(Around *self, visitproc visit, void *arg) {
    Py_VISIT(self->function);
    Py_VISIT(self->before);
    Py_VISIT(self->after);
    return 0;
}

static int around_clear(Around *self) {
    Py_CLEAR(self->before); /* the function stays: a call through a half-collected wrapper must still reach it */
    Py_CLEAR(self->after);
    return 0;
}

static void around_dealloc(Around *self) {
    PyObject_GC_UnTrack(self);
    if (self->weak) PyObject_ClearWeakRefs((PyObject *)self);
    around_clear(self);
    Py_CLEAR(self->function);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef methods[] = {{"__reduce__", around_reduce, METH_NOARGS, "as the function would be pickled"},
                                {"__reduce_ex__", around_reduce, METH_O, "as the function would be pickled"},
                                {NULL, NULL, 0, NULL}};

PyTypeObject AroundType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "sabueso._native.Around",
    .tp_basicsize = sizeof(Around),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "Around(function, before, after)",
    .tp_new = around_new,
    .tp_dealloc = (destructor)around_dealloc,
    .tp_traverse = (traverseproc)around_traverse,
    .tp_clear = (inquiry)around_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Around, call),
    .tp_weaklistoffset = offsetof(Around, weak),
    .tp_descr_get = around_get,
    .tp_getattro = around_getattro,
    .tp_setattro = around_setattro,
    .tp_repr = around_repr,
    .tp_hash = around_hash,
    .tp_richcompare = around_compare,
    .tp_methods = methods,
};

int around_ready(void) {
    const char *names[] = {"__module__", "__qualname__", "__wrapped__", "__get__"};
    PyObject **held[] = {&s_module, &s_qualname, &s_wrapped, &s_get};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((*held[i] = PyUnicode_InternFromString(names[i])) == NULL) return -1;
    return PyType_Ready(&AroundType);
}
