#pragma once

#include "mailbox.hpp"

#include <coracle/http/handler.hpp>

#include <string>
#include <vector>

namespace coracle::tool {

/// The page of a mailbox and what it reads (docs/mail.md lists it). Only for requests whose Host is
/// an address, localhost or one of `names`: a page of another site, whose name leads here, gets
/// nothing. `box` must outlive the handler; on its loop.
http::handler mailbox_page(mailbox& box, std::vector<std::string> names);

/// The page: HTML that needs nothing from elsewhere.
std::string_view mailbox_html() noexcept;

}  // namespace coracle::tool
