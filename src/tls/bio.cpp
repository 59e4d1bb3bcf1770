#include "tls/bio.hpp"

#include "tls/encrypted_stream.hpp"

#include <new>

namespace coracle::tls::detail {
namespace {

int bio_read(BIO* b, char* to, int size) {
    BIO_clear_retry_flags(b);
    const int n =
        static_cast<encrypted_stream*>(BIO_get_data(b))->give(to, static_cast<std::size_t>(size));
    if (n < 0) BIO_set_retry_read(b);
    return n;
}

int bio_write(BIO* b, const char* from, int size) {
    BIO_clear_retry_flags(b);
    return static_cast<encrypted_stream*>(BIO_get_data(b))
        ->take(from, static_cast<std::size_t>(size));
}

long bio_control(BIO*, int command, long, void*) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

BIO_METHOD* make_method() {
    BIO_METHOD* const m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "coracle");
    if (m == nullptr) throw std::bad_alloc();
    BIO_meth_set_read(m, bio_read);
    BIO_meth_set_write(m, bio_write);
    BIO_meth_set_ctrl(m, bio_control);
    return m;
}

}  // namespace

BIO* make_bio(encrypted_stream& s) {
    // Is never freed: a client or a server of static lifetime ends its streams late.
    static const BIO_METHOD* const m = make_method();
    BIO* const b = BIO_new(m);
    if (b == nullptr) return nullptr;
    BIO_set_data(b, &s);
    BIO_set_init(b, 1);
    return b;
}

}  // namespace coracle::tls::detail
