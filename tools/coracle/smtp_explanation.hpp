#pragma once

#include <coracle/base/error.hpp>

#include <string>

namespace coracle::tool {

/// Says in one line why a mail was not sent: the command and the reply, or what was under way; and
/// which option of `coracle smtp send` changes it, where one does. No secret is in it.
std::string explain_mail(const error& e);
/// Explains what may have become of a mail that was interrupted.
std::string explain_interrupted(const error& e);

/// Gives the exit code of `coracle smtp send` for a mail that was not sent: that of curl, where
/// curl has one.
int mail_exit_code_of(const error& e) noexcept;

}  // namespace coracle::tool
