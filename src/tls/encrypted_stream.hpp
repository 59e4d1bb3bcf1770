#pragma once

#include "tls/openssl.hpp"

#include <coracle/runtime/task.hpp>
#include <coracle/tls/stream.hpp>

namespace coracle::tls::detail {

/// Results below this one are a `tls::errc`; above it, errnos.
constexpr std::int64_t first_tls_result = -4096;

constexpr std::int64_t result_of(errc e) noexcept {
    return first_tls_result - static_cast<std::int64_t>(e);
}

/// TLS by OpenSSL. Received records go through `in_` into OpenSSL, which decrypts into the buffer
/// of the reader; records to send go straight into the stream below, and only bytes that it does
/// not take at once wait in `out_`.
class encrypted_stream final : public stream {
public:
    encrypted_stream(ssl_ptr s, std::unique_ptr<net::byte_stream> beneath, buffer received,
                     const common_options& o);
    ~encrypted_stream() override { close(); }

    task<std::expected<void, error>> handshake();
    /// A KeyUpdate has come.
    void key_updated() noexcept {
        ++key_updates_;
        since_key_update_ = 0;
    }
    /// To be called when the peer requested a renegotiation, which is refused with an alert.
    void renegotiation_refused() noexcept { renegotiates_ = true; }
    /// To be called when the peer's certificate is refused: records its subject.
    void note_refusal(X509_STORE_CTX* verification);

    void shutdown_output() noexcept override;
    void close(bool reset = false) noexcept override;
    std::int64_t try_send(std::string_view bytes) noexcept override;
    /// Counts records without data too, because that is known only after reading them.
    bool has_input() noexcept override {
        return !in_.empty() || SSL_pending(ssl_.get()) != 0 || below_->has_input();
    }
    bool watch_hangup(hangup_watch* w) noexcept override { return below_->watch_hangup(w); }
    const net::address& peer() const noexcept override { return below_->peer(); }
    loop& owner() const noexcept override { return below_->owner(); }
    bool start(io_operation& op) noexcept override;
    void cancel(io_operation& op) noexcept override;
    std::error_code code_of(std::int64_t result) const noexcept override;
    /// Returns the peer and the reason of OpenSSL or of the peer's alert, for errors.
    std::string subject() const override;

    tls::version version() const noexcept override;
    std::string_view cipher() const noexcept override;
    std::string_view protocol() const noexcept override;
    std::string_view server_name() const noexcept override;
    bool resumed() const noexcept override { return SSL_session_reused(ssl_.get()) == 1; }
    certificate peer_certificate() const override;
    certificate own_certificate() const override;
    bool verified() const noexcept override;
    secret export_keying_material(std::string_view label, std::string_view context,
                                  std::size_t bytes) const override;
    net::byte_stream& beneath() noexcept override { return *below_; }

    SSL* native() noexcept { return ssl_.get(); }

    /// Reads and writes for OpenSSL's BIO. Returns a count, or -1 if nothing can be moved now, or
    /// ever.
    int give(char* to, std::size_t size) noexcept;
    int take(const char* from, std::size_t size) noexcept;

private:
    struct lower_receive : receive_operation {
        explicit lower_receive(encrypted_stream& s) noexcept
            : receive_operation(&encrypted_stream::received), self(&s) {}
        encrypted_stream* self;
    };
    struct lower_send : send_operation {
        explicit lower_send(encrypted_stream& s) noexcept
            : send_operation(&encrypted_stream::sent), self(&s) {}
        encrypted_stream* self;
    };
    enum class progress : std::uint8_t { done, waits, failed };

    // Reading.
    bool advance_read() noexcept;
    bool decrypt() noexcept;
    void forget_key_updates(std::size_t received) noexcept;
    std::int64_t read_failure() noexcept;
    void fail_writes(errc otherwise, const char* operation) noexcept;
    void take_received() noexcept;
    void keep_nothing() noexcept;
    static void received(io_operation& op) noexcept;

    // Writing.
    bool keep(buffer& in, std::string_view bytes) noexcept;
    bool advance_write() noexcept;
    bool finish_write(std::int64_t result) noexcept;
    progress flush() noexcept;
    progress flush_below() noexcept;
    bool encrypt(const char* bytes, std::size_t size) noexcept;
    bool encrypt_slices(send_operation& op) noexcept;
    bool encrypt_file(send_file_operation& op) noexcept;
    bool read_piece(send_file_operation& op) noexcept;
    bool copies_slowly(const char* bytes) const noexcept;
    char* well_placed(char* block) const noexcept;
    void end_after_cancel(std::int64_t beneath) noexcept;
    bool all_encrypted() const noexcept;
    std::int64_t bytes_sent() const noexcept;
    static void advance(send_operation& op, std::size_t n) noexcept;
    static bool is_longer(std::span<const slice> slices, std::size_t size) noexcept;
    std::size_t record_size() noexcept;
    bool may_gather() const noexcept;
    static void sent(io_operation& op) noexcept;

    void send_close_notify() noexcept;
    error handshake_failure();

    ssl_ptr ssl_;
    std::unique_ptr<net::byte_stream> below_;
    buffer in_;      ///< received, and not yet read by OpenSSL
    buffer out_;     ///< encrypted, and not yet taken by the stream below
    buffer behind_;  ///< records to send while a part of `out_` is under way
    buffer file_;    ///< read from a file that is sent, and not yet encrypted
    lower_receive lower_receive_{*this};
    lower_send lower_send_{*this};
    slice lower_slice_;
    receive_operation* reader_ = nullptr;
    io_operation* writer_ = nullptr;
    std::string refusal_;           ///< details of the failure besides its code
    std::int64_t read_end_ = 1;     ///< at most 0: the result of all later reads
    std::int64_t write_error_ = 0;  ///< negative: the result of all later writes
    std::size_t owed_ = 0;          ///< bytes of the next send that are in `out_` already
    std::uintptr_t record_at_ = 0;  ///< the address of the last record of OpenSSL
    std::size_t burst_ = 0;         ///< bytes since the last rest
    time_point last_sent_ = time_point::min();
    unsigned key_updates_ = 0;          ///< since the last ones that came with data
    std::size_t since_key_update_ = 0;  ///< bytes of data
    unsigned most_key_updates_;
    unsigned records_ = 0;  ///< of this go
    bool writes_below_ = false;
    bool flows_ = false;             ///< the last receive of the stream below gave a block or more
    bool rests_ = false;             ///< the writer lets other tasks run first
    bool reader_rests_ = false;      ///< the same
    bool reader_cancelled_ = false;  ///< while it rests
    bool renegotiates_ = false;
    bool gathers_ = false;
    bool established_ = false;
    bool cancelled_ = false;  ///< the writer
    bool output_ended_ = false;
    bool closed_ = false;
};

}  // namespace coracle::tls::detail
