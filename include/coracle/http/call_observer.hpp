#pragma once

#include <coracle/base/error.hpp>
#include <coracle/http/method.hpp>
#include <coracle/http/response_info.hpp>
#include <coracle/http/status.hpp>

namespace coracle::http {

/// The record of one call of a client that has ended, for metrics and logs. All lives for the call
/// of the observer.
struct call_record {
    /// Its URL, connection and timings, as far as it came.
    const response_info& info;
    http::method method;
    /// The status of the response; zero (no member of the enumeration) where none came.
    http::status status;
    /// Null unless the call failed, or was cancelled before its response.
    const error* failure;
    /// The response was received to its end. False for a failure, and where the caller dropped the
    /// response before it had read the body.
    bool is_whole;
};

/// An object that is notified of each call of a client that has ended (its body included), on the
/// thread on which it ended: of several at a time.
struct call_observer {
    void (*observe)(void* self, const call_record& record);
    void* self;
};

}  // namespace coracle::http
