#ifndef SABUESO_NATIVE_H
#define SABUESO_NATIVE_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

extern PyTypeObject AroundType, GuardType, ReaderType;
PyObject *put_points(PyObject *module, PyObject *const *args, Py_ssize_t nargs);
PyObject *stack_of(PyObject *module, PyObject *thread);
PyObject *locals_of(PyObject *module, PyObject *frame);
int around_ready(void);
int guard_ready(void);
int reader_ready(void);
#endif
