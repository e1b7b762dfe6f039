#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <tide.h>

static PyObject *height(PyObject *, PyObject *hours) {
    double value = PyFloat_AsDouble(hours);
    if (PyErr_Occurred()) {
        return nullptr;
    }
    return PyFloat_FromDouble(tide_height(value));
}

static PyMethodDef methods[] = {{"height", height, METH_O, "Metres above the lowest water."}, {}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_tide", nullptr, -1, methods};

PyMODINIT_FUNC PyInit__tide() { return PyModule_Create(&module); }
