/* Calls of kernels that were compiled when the wheel was built.

   A `Launcher` stands in a kernel's module where Numba's dispatcher would. It has an entry for each combination of
   argument types that was compiled: a description of the types, and the address of a function that takes a row of
   8-byte slots. A call describes its arguments, finds the entry, fills the slots and runs the function without the
   interpreter's lock. A call that no entry is for goes to `missing`.

   The description of an argument, and its slots:

     n                none           none
     b i f            bool, int, float, and NumPy's of 8 bytes         one: the value
     #f4              another NumPy scalar, by kind and size          one: the value, in its own size
     [f42Cw           an array: kind and size, number of dimensions, layout (C, F, A), writable (w) or not (r),
                      and u if it is not aligned                      data, elements, item size, sizes, strides
     (ii)             a tuple of such                                 those of its items

   The dtypes of half precision, which are records, have the kinds that `set_records` gives them. A result is described
   likewise, and is left in the first slots. */

#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <structmember.h>
#include <stddef.h>
#include <string.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#define SLOTS 256
#define LETTERS 256

typedef int (*kernel)(int64_t *slots);

typedef struct {
    char letters[LETTERS];
    Py_ssize_t length;
    kernel run;
    char result[32];
} Entry;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *name, *missing;
    Entry *entries;
    Py_ssize_t count, last; /* the entry of the last call, which is tried first */
} Launcher;

typedef struct {
    char letters[LETTERS];
    Py_ssize_t length, slots;
    int64_t values[SLOTS];
} Call;

static PyArray_Descr *records[2];
static char record_kinds[2];

static int put(Call *call, char letter)
{
    if (call->length == LETTERS) return 0;
    call->letters[call->length++] = letter;
    return 1;
}

static int put_value(Call *call, int64_t value)
{
    if (call->slots == SLOTS) return 0;
    call->values[call->slots++] = value;
    return 1;
}

/* Kind and size of a dtype; 0 where no kernel takes it. */
static int put_dtype(Call *call, PyArray_Descr *dtype)
{
    npy_intp size = PyDataType_ELSIZE(dtype);
    if (dtype->type_num == NPY_VOID) {
        for (int k = 0; k < 2; k++)
            if (records[k] && (dtype == records[k] || PyArray_EquivTypes(dtype, records[k])))
                return put(call, record_kinds[k]) && put(call, '2');
        return 0;
    }
    return strchr("biufc", dtype->kind) && PyArray_ISNBO(dtype->byteorder) && size < 10
        && put(call, dtype->kind) && put(call, '0' + (char)size);
}

static int put_array(Call *call, PyArrayObject *array)
{
    int rank = PyArray_NDIM(array), flags = PyArray_FLAGS(array), is_record = PyArray_DESCR(array)->type_num == NPY_VOID;
    char layout = flags & NPY_ARRAY_C_CONTIGUOUS ? 'C' : flags & NPY_ARRAY_F_CONTIGUOUS ? 'F' : 'A';
    if (rank > 9 || call->length + 8 > LETTERS || call->slots + 3 + 2 * rank > SLOTS) return 0;
    put(call, '[');
    if (!put_dtype(call, PyArray_DESCR(array))) return 0;
    put(call, '0' + (char)rank);
    put(call, layout);
    put(call, flags & NPY_ARRAY_WRITEABLE ? 'w' : 'r');
    if (!(flags & NPY_ARRAY_ALIGNED) || is_record) put(call, 'u');
    int64_t *slot = call->values + call->slots;
    *slot++ = (int64_t)PyArray_DATA(array);
    *slot++ = PyArray_SIZE(array);
    *slot++ = PyArray_ITEMSIZE(array);
    for (int dim = 0; dim < rank; dim++) *slot++ = PyArray_DIM(array, dim);
    for (int dim = 0; dim < rank; dim++) *slot++ = PyArray_STRIDE(array, dim);
    call->slots += 3 + 2 * rank;
    return 1;
}

/* Describe an argument and fill its slots; 0 where no kernel takes it, -1 with an exception. */
static int put_argument(Call *call, PyObject *value)
{
    PyTypeObject *type = Py_TYPE(value);
    if (type == &PyLong_Type) {
        int overflow;
        int64_t number = PyLong_AsLongLongAndOverflow(value, &overflow);
        return !overflow && put(call, 'i') && put_value(call, number);
    }
    if (type == &PyArray_Type) return put_array(call, (PyArrayObject *)value);
    if (type == &PyFloat_Type) {
        int64_t bits;
        double number = PyFloat_AS_DOUBLE(value);
        memcpy(&bits, &number, 8);
        return put(call, 'f') && put_value(call, bits);
    }
    if (type == &PyBool_Type) return put(call, 'b') && put_value(call, value == Py_True);
    if (value == Py_None) return put(call, 'n');
    if (type == &PyTuple_Type) {
        if (!put(call, '(')) return 0;
        for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(value); k++) {
            int state = put_argument(call, PyTuple_GET_ITEM(value, k));
            if (state <= 0) return state;
        }
        return put(call, ')');
    }
    if (PyArray_IsScalar(value, Number) || PyArray_IsScalar(value, Bool)) {
        int64_t bits = 0;
        PyArray_Descr *dtype = PyArray_DescrFromScalar(value);
        if (!dtype) return -1;
        npy_intp size = PyDataType_ELSIZE(dtype);
        int is_own = dtype->kind == 'b' || (size == 8 && strchr("if", dtype->kind)); /* a type that Python has */
        int fits = size <= 8 && (is_own ? put(call, dtype->kind) : put(call, '#') && put_dtype(call, dtype));
        if (fits) PyArray_ScalarAsCtype(value, &bits);
        Py_DECREF(dtype);
        return fits && put_value(call, bits);
    }
    return 0;
}

static PyObject *result_of(const char **letters, const int64_t **slots)
{
    char letter = *(*letters)++;
    double number;
    switch (letter) {
    case 'n': Py_RETURN_NONE;
    case 'b': return PyBool_FromLong((long)(*(*slots)++ & 1));
    case 'i': return PyLong_FromLongLong(*(*slots)++);
    case 'u': return PyLong_FromUnsignedLongLong((uint64_t) * (*slots)++);
    case 'f': memcpy(&number, (*slots)++, 8); return PyFloat_FromDouble(number);
    }
    PyObject *items = PyList_New(0); /* a tuple */
    while (items && **letters != ')') {
        PyObject *item = result_of(letters, slots);
        if (!item || PyList_Append(items, item)) Py_CLEAR(items);
        Py_XDECREF(item);
    }
    (*letters)++;
    PyObject *made = items ? PyList_AsTuple(items) : NULL;
    Py_XDECREF(items);
    return made;
}

static const Entry *entry_of(Launcher *self, const Call *call)
{
    for (Py_ssize_t k = -1; k < self->count; k++) {
        const Entry *entry = self->entries + (k < 0 ? self->last : k);
        if (entry->length == call->length && !memcmp(entry->letters, call->letters, call->length)) {
            if (k >= 0) self->last = k;
            return entry;
        }
    }
    return NULL;
}

static PyObject *launch(PyObject *object, PyObject *const *args, size_t flags, PyObject *names)
{
    Launcher *self = (Launcher *)object;
    Call call;
    call.length = call.slots = 0;
    int state = self->count && !names;
    for (Py_ssize_t k = 0; state > 0 && k < PyVectorcall_NARGS(flags); k++) state = put_argument(&call, args[k]);
    if (state < 0) return NULL;
    const Entry *entry = state ? entry_of(self, &call) : NULL;
    if (!entry) return PyObject_Vectorcall(self->missing, args, flags, names);
    int failed;
    Py_BEGIN_ALLOW_THREADS
    failed = entry->run(call.values);
    Py_END_ALLOW_THREADS
    if (failed) return PyErr_Format(PyExc_MemoryError, "%U: there is not enough memory for what it computes with", self->name);
    const char *letters = entry->result;
    const int64_t *slots = call.values;
    return result_of(&letters, &slots);
}

static int fill_entries(Launcher *self, PyObject *entries)
{
    self->entries = PyMem_Calloc(PyTuple_GET_SIZE(entries) + 1, sizeof(Entry));
    if (!self->entries) return PyErr_NoMemory(), -1;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(entries); k++) {
        const char *letters, *result;
        Py_ssize_t length;
        unsigned long long address;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(entries, k), "s#Ks", &letters, &length, &address, &result)) return -1;
        Entry *entry = self->entries + k;
        if (length > LETTERS || strlen(result) >= sizeof entry->result)
            return PyErr_SetString(PyExc_ValueError, "Launcher: a description is too long"), -1;
        memcpy(entry->letters, letters, length);
        strcpy(entry->result, result);
        entry->length = length;
        entry->run = (kernel)(uintptr_t)address;
        self->count = k + 1;
    }
    return 0;
}

static PyObject *new_launcher(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *name, *missing, *entries;
    if (!PyArg_ParseTuple(args, "UOO!:Launcher", &name, &missing, &PyTuple_Type, &entries)) return NULL;
    Launcher *self = (Launcher *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->vectorcall = launch;
    self->name = Py_NewRef(name);
    self->missing = Py_NewRef(missing);
    if (fill_entries(self, entries)) Py_CLEAR(self);
    return (PyObject *)self;
}

static int traverse(Launcher *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->missing);
    return 0;
}

static int clear(Launcher *self)
{
    Py_CLEAR(self->missing);
    return 0;
}

static void deallocate(Launcher *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    clear(self);
    Py_XDECREF(self->name);
    PyMem_Free(self->entries);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *described(PyObject *self, PyObject *args)
{
    Call call;
    call.length = call.slots = 0;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args); k++) {
        int state = put_argument(&call, PyTuple_GET_ITEM(args, k));
        if (state < 0) return NULL;
        if (!state) Py_RETURN_NONE;
    }
    return PyUnicode_FromStringAndSize(call.letters, call.length);
}

static PyObject *set_records(PyObject *self, PyObject *args)
{
    PyArray_Descr *first, *second;
    int one, two;
    if (!PyArg_ParseTuple(args, "O!CO!C:set_records", &PyArrayDescr_Type, &first, &one, &PyArrayDescr_Type, &second, &two))
        return NULL;
    Py_INCREF(first);
    Py_INCREF(second);
    records[0] = first, records[1] = second;
    record_kinds[0] = (char)one, record_kinds[1] = (char)two;
    Py_RETURN_NONE;
}

/* The levels of instructions that this processor has, and what kernels use beyond them. */
static PyObject *instructions(PyObject *self, PyObject *args)
{
    PyObject *found = PyList_New(0);
#if defined(__x86_64__) && (__GNUC__ >= 12 || __clang_major__ >= 18)
#define ADD(name)                                                                                                      \
    if (found && __builtin_cpu_supports(name)) {                                                                       \
        PyObject *text = PyUnicode_FromString(name);                                                                   \
        if (!text || PyList_Append(found, text)) Py_CLEAR(found);                                                      \
        Py_XDECREF(text);                                                                                              \
    }
    __builtin_cpu_init();
    ADD("x86-64-v2")
    ADD("x86-64-v3")
    ADD("x86-64-v4")
    ADD("avx512bf16")
#endif
    return found;
}

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(Launcher, vectorcall), READONLY},
    {"name", T_OBJECT, offsetof(Launcher, name), READONLY, "of the function"},
    {"missing", T_OBJECT, offsetof(Launcher, missing), READONLY, "what is called where there is no entry"},
    {"count", T_PYSSIZET, offsetof(Launcher, count), READONLY, "the number of entries"},
    {NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, new_launcher},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_traverse, traverse},
    {Py_tp_clear, clear},
    {Py_tp_dealloc, deallocate},
    {Py_tp_members, members},
    {Py_tp_doc, "Launcher(name, missing, entries): a kernel by the types of its arguments."},
    {0, NULL},
};

static PyType_Spec spec = {
    "weft.backend_cpu.compiled.prebuilt.launch.Launcher",
    sizeof(Launcher),
    0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE,
    slots,
};

static PyMethodDef functions[] = {
    {"described", described, METH_VARARGS, "The description of arguments; None where no kernel takes them."},
    {"instructions", instructions, METH_NOARGS, "The levels of instructions that this processor has, and some beyond."},
    {"set_records", set_records, METH_VARARGS, "Name the kinds of the dtypes of half precision."},
    {NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "launch", "Calls of prebuilt kernels.", -1, functions};

PyMODINIT_FUNC PyInit_launch(void)
{
    import_array();
    PyObject *made = PyModule_Create(&module), *type = PyType_FromSpec(&spec);
    if (!made || !type || PyModule_AddObjectRef(made, "Launcher", type)) Py_CLEAR(made);
    Py_XDECREF(type);
    return made;
}
