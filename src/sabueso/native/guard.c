/* Guard: a hook of ours called from the program: silent when its adapter is off or when it is called from within us, and never failing.
 *
 * The twin in Python is `guarded` of capture/recorder.py; this one adds no frame, for hooks in every step.
 */
#include "native.h"

typedef struct {
    PyObject_HEAD
    PyObject *hook, *recorder, *adapter, *off, *busy;
    vectorcallfunc call;
} Guard;

static PyObject *s_failed, *s_on, *s_own_error;

/* Is an attribute there and true? */
static int holds(PyObject *object, PyObject *name) {
    PyObject *value = PyObject_GetAttr(object, name);
    int answer = value != NULL && PyObject_IsTrue(value) == 1;
    Py_XDECREF(value);
    PyErr_Clear();
    return answer;
}

/* Keep the error that stands in the run. */
static void keep_error(Guard *self) {
    PyObject *type, *error, *trace, *told;
    PyErr_Fetch(&type, &error, &trace);
    PyErr_NormalizeException(&type, &error, &trace);
    if (trace != NULL && error != NULL) PyException_SetTraceback(error, trace);
    told = error != NULL ? PyObject_CallMethodObjArgs(self->recorder, s_own_error, self->adapter, error, NULL) : NULL;
    if (told == NULL) PyErr_Clear();
    Py_XDECREF(told);
    Py_XDECREF(type);
    Py_XDECREF(error);
    Py_XDECREF(trace);
}

static PyObject *guard_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names) {
    Guard *self = (Guard *)object;
    PyObject *result, *type, *error, *trace;
    if (holds(self->recorder, s_failed) || PySet_Contains(self->off, self->adapter) != 0 || holds(self->busy, s_on)) {
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    if (PyObject_SetAttr(self->busy, s_on, Py_True) < 0) PyErr_Clear();
    Py_INCREF(self);
    result = PyObject_Vectorcall(self->hook, args, nargsf & ~PY_VECTORCALL_ARGUMENTS_OFFSET, names);
    if (result == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
        keep_error(self);
        result = Py_NewRef(Py_None);
    }
    PyErr_Fetch(&type, &error, &trace); /* Ctrl-C passes on, and the next hook is heard */
    if (PyObject_SetAttr(self->busy, s_on, Py_False) < 0) PyErr_Clear();
    PyErr_Restore(type, error, trace);
    Py_DECREF(self);
    return result;
}

static PyObject *guard_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs)) {
    PyObject *hook, *recorder, *adapter, *off, *busy;
    Guard *self;
    if (!PyArg_ParseTuple(args, "OOO!O!O", &hook, &recorder, &PyUnicode_Type, &adapter, &PySet_Type, &off, &busy)) return NULL;
    if ((self = (Guard *)type->tp_alloc(type, 0)) == NULL) return NULL;
    self->hook = Py_NewRef(hook), self->recorder = Py_NewRef(recorder), self->adapter = Py_NewRef(adapter);
    self->off = Py_NewRef(off), self->busy = Py_NewRef(busy);
    self->call = guard_call;
    return (PyObject *)self;
}

static int guard_traverse(Guard *self, visitproc visit, void *arg) {
    Py_VISIT(self->hook);
    Py_VISIT(self->recorder);
    Py_VISIT(self->off);
    Py_VISIT(self->busy);
    return 0;
}

static int guard_clear(Guard *Py_UNUSED(self)) { return 0; } /* what it calls stays: torch may hold it to the end */

static void guard_dealloc(Guard *self) {
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->hook);
    Py_CLEAR(self->recorder);
    Py_CLEAR(self->adapter);
    Py_CLEAR(self->off);
    Py_CLEAR(self->busy);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef members[] = {{"__wrapped__", T_OBJECT, offsetof(Guard, hook), READONLY, "the hook"}, {NULL, 0, 0, 0, NULL}};

PyTypeObject GuardType = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "sabueso._native.Guard",
    .tp_basicsize = sizeof(Guard),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "Guard(hook, recorder, adapter, adapters that are off, thread-local that tells whether we are at work)",
    .tp_new = guard_new,
    .tp_dealloc = (destructor)guard_dealloc,
    .tp_traverse = (traverseproc)guard_traverse,
    .tp_clear = (inquiry)guard_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Guard, call),
    .tp_members = members,
};

int guard_ready(void) {
    const char *names[] = {"failed", "on", "own_error"};
    PyObject **held[] = {&s_failed, &s_on, &s_own_error};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if ((*held[i] = PyUnicode_InternFromString(names[i])) == NULL) return -1;
    return PyType_Ready(&GuardType);
}
