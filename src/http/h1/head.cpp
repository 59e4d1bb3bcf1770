#include <coracle/http/h1/head.hpp>

#include <cassert>
#include <cstdint>

namespace coracle::http::h1 {

namespace {

// Compared as numbers: `from` may be gone, and views of literals are unrelated to it.
class mover {
public:
    mover(const char* from, std::size_t size, const char* to) noexcept
        : from_{reinterpret_cast<std::uintptr_t>(from)}, size_{size},
          distance_{reinterpret_cast<std::uintptr_t>(to) - from_} {}

    // A view of a literal or of nothing stays. Without a branch, since it is as often one as the
    // other.
    void move_if_inside(std::string_view& view) const noexcept {
        move(view, is_inside(view) ? distance_ : 0);
    }

    void move_inside(std::string_view& view) const noexcept {
        assert(is_inside(view));
        move(view, distance_);
    }

    void move_inside(std::vector<head_field>& fields) const noexcept {
        for (head_field& field : fields) {
            move_inside(field.name);
            move_inside(field.value);
        }
    }

private:
    static std::uintptr_t address(std::string_view view) noexcept {
        return reinterpret_cast<std::uintptr_t>(view.data());
    }

    static void move(std::string_view& view, std::uintptr_t distance) noexcept {
        view = {reinterpret_cast<const char*>(address(view) + distance), view.size()};
    }

    bool is_inside(std::string_view view) const noexcept { return address(view) - from_ <= size_; }

    std::uintptr_t from_;
    std::size_t size_;
    std::uintptr_t distance_;
};

}  // namespace

void rebase(request_head& head, const char* from, std::size_t size, const char* to) noexcept {
    const mover move{from, size, to};
    move.move_inside(head.method_text);
    move.move_inside(head.target);
    if (head.form == target_form::origin) {
        move.move_inside(head.path);
        if (head.has_query) move.move_inside(head.query);
    } else {
        move.move_if_inside(head.scheme);
        move.move_if_inside(head.path);
        move.move_if_inside(head.query);
    }
    move.move_if_inside(head.host);
    move.move_inside(head.fields);
}

void rebase(response_head& head, const char* from, std::size_t size, const char* to) noexcept {
    const mover move{from, size, to};
    move.move_if_inside(head.reason);
    move.move_inside(head.fields);
}

}  // namespace coracle::http::h1
