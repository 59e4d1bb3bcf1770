#pragma once

namespace coracle::http::detail {

class client_shard;

/// Keeps a shard alive while it is used.
class shard_use {
public:
    explicit shard_use(client_shard& s) noexcept;
    shard_use(const shard_use&) = delete;
    shard_use& operator=(const shard_use&) = delete;
    ~shard_use();
    client_shard* operator->() const noexcept { return shard_; }
    client_shard& operator*() const noexcept { return *shard_; }

private:
    client_shard* shard_;
};

}  // namespace coracle::http::detail
