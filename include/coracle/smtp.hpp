#pragma once

/// @file
/// Mail: messages, the client and signing.

#include <coracle/smtp/client.hpp>
#include <coracle/smtp/client_options.hpp>
#include <coracle/smtp/client_settings.hpp>
#include <coracle/smtp/curlev.hpp>
#include <coracle/smtp/dkim.hpp>
#include <coracle/smtp/error.hpp>
#include <coracle/smtp/interceptor.hpp>
#include <coracle/smtp/launch.hpp>
#include <coracle/smtp/log_mails.hpp>
#include <coracle/smtp/message.hpp>
#include <coracle/smtp/reply.hpp>
#include <coracle/smtp/sending.hpp>
#include <coracle/smtp/sts_policy.hpp>
