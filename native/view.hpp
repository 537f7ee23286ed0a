// A buffer of a NumPy array. The buffer protocol takes read-only and strided arrays as they are.
#pragma once
#include <nanobind/nanobind.h>

namespace steadyset {

class View {
 public:
  View(nanobind::handle array, int flags) {
    if (PyObject_GetBuffer(array.ptr(), &buffer_, flags) != 0) throw nanobind::python_error();
  }
  View(const View&) = delete;
  ~View() { PyBuffer_Release(&buffer_); }
  const Py_buffer& operator*() const { return buffer_; }
  const Py_buffer* operator->() const { return &buffer_; }
  int64_t count() const { return buffer_.itemsize ? buffer_.len / buffer_.itemsize : 0; }
  template <class T> T* as() const { return static_cast<T*>(buffer_.buf); }

 private:
  Py_buffer buffer_{};
};

}  // namespace steadyset
