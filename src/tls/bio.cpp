#include "tls/bio.hpp"

#include "tls/encrypted_stream.hpp"

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

struct method {
    method() : of_streams(BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "coracle")) {
        BIO_meth_set_read(of_streams, bio_read);
        BIO_meth_set_write(of_streams, bio_write);
        BIO_meth_set_ctrl(of_streams, bio_control);
    }
    method(const method&) = delete;
    method& operator=(const method&) = delete;
    ~method() { BIO_meth_free(of_streams); }
    BIO_METHOD* of_streams;
};

}  // namespace

BIO* make_bio(encrypted_stream& s) {
    static const method m;
    BIO* const b = BIO_new(m.of_streams);
    if (b == nullptr) return nullptr;
    BIO_set_data(b, &s);
    BIO_set_init(b, 1);
    return b;
}

}  // namespace coracle::tls::detail
