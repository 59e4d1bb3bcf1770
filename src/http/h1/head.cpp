#include "http/h1/head.hpp"

#include <cstdint>

namespace coracle::http::h1 {

namespace {

class mover {
public:
    mover(const char* from, std::size_t size, const char* to) noexcept
        : from_{reinterpret_cast<std::uintptr_t>(from)}, size_{size}, to_{to} {}

    // Compared as numbers: views of literals are unrelated to `from`, and stay.
    void operator()(std::string_view& view) const noexcept {
        const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(view.data()) - from_;
        if (view.data() != nullptr && offset <= size_) {
            view = {to_ + offset, view.size()};
        }
    }

    void operator()(std::vector<head_field>& fields) const noexcept {
        for (head_field& field : fields) {
            (*this)(field.name);
            (*this)(field.value);
        }
    }

private:
    std::uintptr_t from_;
    std::size_t size_;
    const char* to_;
};

}  // namespace

void rebase(request_head& head, const char* from, std::size_t size, const char* to) noexcept {
    const mover move{from, size, to};
    for (std::string_view* view :
         {&head.method_text, &head.target, &head.scheme, &head.path, &head.query, &head.host}) {
        move(*view);
    }
    move(head.fields);
}

void rebase(response_head& head, const char* from, std::size_t size, const char* to) noexcept {
    const mover move{from, size, to};
    move(head.reason);
    move(head.fields);
}

}  // namespace coracle::http::h1
