#ifndef SABUESO_NATIVE_H
#define SABUESO_NATIVE_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

extern PyTypeObject AroundType, ReaderType;
int around_ready(void);
int reader_ready(void);
#endif
