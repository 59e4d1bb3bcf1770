#include "tls/encrypted_stream.hpp"

#include "tls/bio.hpp"
#include "tls/certificate.hpp"
#include "tls/message_watch.hpp"

#include <new>

namespace coracle::tls::detail {

void watch_message(int sent, int, int type, const void* bytes, std::size_t size, SSL* s, void*) {
    const auto* const message = static_cast<const unsigned char*>(bytes);
    auto& self = *static_cast<encrypted_stream*>(SSL_get_app_data(s));
    if (sent == 0 && type == SSL3_RT_HANDSHAKE && size != 0 && message[0] == SSL3_MT_KEY_UPDATE) {
        self.key_updated();
    }
    if (sent != 0 && type == SSL3_RT_ALERT && size > 1 && message[1] == SSL_AD_NO_RENEGOTIATION) {
        self.renegotiation_refused();
    }
}

encrypted_stream::encrypted_stream(ssl_ptr s, std::unique_ptr<net::byte_stream> beneath,
                                   buffer received, const common_options& o)
    : ssl_(std::move(s)), below_(std::move(beneath)), in_(std::move(received)),
      most_key_updates_(o.key_updates) {
    BIO* const b = make_bio(*this);
    if (b == nullptr || SSL_set_app_data(ssl_.get(), this) != 1) {
        BIO_free(b);
        throw std::bad_alloc();
    }
    SSL_set_bio(ssl_.get(), b, b);
}

std::string encrypted_stream::subject() const {
    std::string text = below_->subject();
    return refusal_.empty() ? text : text + ": " + refusal_;
}

std::error_code encrypted_stream::code_of(std::int64_t result) const noexcept {
    if (result < first_tls_result) {
        return make_error_code(static_cast<errc>(first_tls_result - result));
    }
    return below_->code_of(result);
}

bool encrypted_stream::start(io_operation& op) noexcept {
    if ((op.code == opcode::receive ? static_cast<io_operation*>(reader_) : writer_) != nullptr) {
        op.result = -EBUSY;
        return true;
    }
    if (op.code == opcode::receive) {
        reader_ = static_cast<receive_operation*>(&op);
        return advance_read();
    }
    writer_ = &op;
    cancelled_ = false;
    records_ = 0;
    if (op.code == opcode::send) {
        // This send begins with the bytes that `try_send` has encrypted and not sent completely.
        advance(static_cast<send_operation&>(op), std::exchange(owed_, 0));
    }
    return advance_write();
}

void encrypted_stream::cancel(io_operation& op) noexcept {
    if (&op == reader_) {
        reader_cancelled_ = reader_rests_;
        if (!reader_rests_) below_->cancel(lower_receive_);
    } else if (&op == writer_) {
        cancelled_ = true;
        if (!rests_) below_->cancel(lower_send_);
    }
}

// ---- the end -----------------------------------------------------------------------------------

void encrypted_stream::send_close_notify() noexcept {
    if (std::exchange(output_ended_, true) || !established_ || write_error_ != 0) return;
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
    if (!writes_below_) flush_below();
    ERR_clear_error();
}

void encrypted_stream::shutdown_output() noexcept {
    if (output_ended_) return;
    send_close_notify();
    below_->shutdown_output();
}

void encrypted_stream::close(bool reset) noexcept {
    if (std::exchange(closed_, true)) return;
    if (!reset) send_close_notify();
    below_->close(reset);
}

// ---- what was agreed on -------------------------------------------------------------------------

version encrypted_stream::version() const noexcept {
    return SSL_version(ssl_.get()) == TLS1_3_VERSION ? version::tls_1_3 : version::tls_1_2;
}

std::string_view encrypted_stream::cipher() const noexcept {
    const SSL_CIPHER* const c = SSL_get_current_cipher(ssl_.get());
    const char* const name = c == nullptr ? nullptr : SSL_CIPHER_standard_name(c);
    return name == nullptr ? std::string_view() : name;
}

std::string_view encrypted_stream::protocol() const noexcept {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(ssl_.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
}

std::string_view encrypted_stream::server_name() const noexcept {
    const char* const name = SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name);
    return name == nullptr ? std::string_view() : name;
}

certificate encrypted_stream::peer_certificate() const {
    return certificate_of(SSL_get0_peer_certificate(ssl_.get()));
}

certificate encrypted_stream::own_certificate() const {
    return certificate_of(SSL_get_certificate(ssl_.get()));
}

bool encrypted_stream::verified() const noexcept {
    return SSL_get_verify_mode(ssl_.get()) != SSL_VERIFY_NONE &&
           SSL_get0_peer_certificate(ssl_.get()) != nullptr &&
           SSL_get_verify_result(ssl_.get()) == X509_V_OK;
}

secret encrypted_stream::export_keying_material(std::string_view label, std::string_view context,
                                                std::size_t bytes) const {
    std::string material(bytes, '\0');
    forget_failures();
    const int done = SSL_export_keying_material(
        ssl_.get(), reinterpret_cast<unsigned char*>(material.data()), bytes, label.data(),
        label.size(), reinterpret_cast<const unsigned char*>(context.data()), context.size(), 1);
    if (done != 1) throw_exception(take_failure(errc::bad_option, "export_keying_material"));
    return secret(std::move(material));
}

}  // namespace coracle::tls::detail
