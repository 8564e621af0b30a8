/* Stack: the frames of another thread, read in one go. */
#include "native.h"

/* stack_of(thread) -> [frame, ..], innermost first. In one call and without a collection: making the object of a frame may collect (Python 3.11),
   what is collected may let go of the interpreter, and then the thread leaves the very frame that the object is being made for. */
PyObject *stack_of(PyObject *Py_UNUSED(module), PyObject *thread) {
    unsigned long wanted = PyLong_AsUnsignedLong(thread);
    if (wanted == (unsigned long)-1 && PyErr_Occurred()) return NULL;
    int collects = PyGC_Disable();
    PyObject *found = PyList_New(0);
    PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    while (state != NULL && state->thread_id != wanted) state = PyThreadState_Next(state);
    PyFrameObject *frame = found != NULL && state != NULL ? PyThreadState_GetFrame(state) : NULL;
    while (frame != NULL) {
        int failed = PyList_Append(found, (PyObject *)frame) < 0;
        PyFrameObject *back = failed ? NULL : PyFrame_GetBack(frame);
        Py_DECREF(frame);
        if (failed) Py_CLEAR(found);
        frame = back;
    }
    if (collects) PyGC_Enable();
    return found;
}

/* locals_of(frame) -> its f_locals, without a collection for the same reason. */
PyObject *locals_of(PyObject *Py_UNUSED(module), PyObject *frame) {
    int collects = PyGC_Disable();
    PyObject *found = PyObject_GetAttrString(frame, "f_locals");
    if (collects) PyGC_Enable();
    return found;
}
