#!/usr/bin/env python3
"""usage: check_limits.py [--root DIR]

Compares the tables of docs/limits.md with the headers: every field of `server_limits` and
`server_timeouts`, and the few defaults in EXTRA, must have a row with the default that the code has;
every counter in a row, and every row of the counters, must be a member of `server_counters`, and
every member must have one. Rows of the fixed numbers name a file and a constant of it.
"""

import argparse
import pathlib
import re
import sys

import source_tree

SERVER = "include/coracle/http/server.hpp"
VERSION_LIMITS = {"h1_limits": "include/coracle/http/h1_limits.hpp",
                  "h2_limits": "include/coracle/http/h2_limits.hpp"}
DOCUMENT = "docs/limits.md"
EXTRA = {
    "url::max_size": ("include/coracle/base/url.hpp", "max_size"),
    "received_body::default_limit": ("include/coracle/http/body.hpp", "default_limit"),
    "json_limits::bytes": ("include/coracle/http/body.hpp", "default_limit"),
    "json_limits::depth": ("include/coracle/http/json.hpp", "depth"),
    "proxy_limits::header": ("src/net/proxy_protocol.hpp", "header"),
    "most_forwarded_elements": ("include/coracle/http/forwarded.hpp", "most_forwarded_elements"),
    "form_limits::pairs": ("include/coracle/http/form.hpp", "pairs"),
    "form_limits::bytes": ("include/coracle/http/form.hpp", "bytes"),
    "http::multipart_limits::body": ("include/coracle/http/multipart.hpp", "body"),
    "http::multipart_limits::part": ("include/coracle/http/multipart.hpp", "part"),
    "http::multipart_limits::files": ("include/coracle/http/multipart.hpp", "files"),
    "mime::multipart_limits::parts": ("include/coracle/mime/multipart.hpp", "parts"),
    "mime::multipart_limits::header_bytes": ("include/coracle/mime/multipart.hpp", "header_bytes"),
    "mime::multipart_limits::fields": ("include/coracle/mime/multipart.hpp", "fields"),
    "mime::multipart_limits::boundary": ("include/coracle/mime/multipart.hpp", "boundary"),
    "event_limits::line": ("include/coracle/http/event.hpp", "line"),
    "event_limits::data": ("include/coracle/http/event.hpp", "data"),
    "event_options::heartbeat": ("include/coracle/http/events.hpp", "heartbeat"),
    "event_topic::default_history": ("include/coracle/http/events.hpp", "default_history"),
    "tls::common_options::handshake_timeout": ("include/coracle/tls/options.hpp", "handshake_timeout"),
    "tls::common_options::key_updates": ("include/coracle/tls/options.hpp", "key_updates"),
    "tls::server_options::ticket_lifetime": ("include/coracle/tls/options.hpp", "ticket_lifetime"),
    "tls::client_options::sessions": ("include/coracle/tls/options.hpp", "sessions"),
    "rate_limit_options::store_timeout": ("include/coracle/http/middleware/rate_limit.hpp", "store_timeout"),
    "redis::reply_limits::bytes": ("include/coracle/redis/options.hpp", "bytes"),
    "redis::reply_limits::elements": ("include/coracle/redis/options.hpp", "elements"),
    "redis::connection_options::connect_timeout": ("include/coracle/redis/options.hpp", "connect_timeout"),
    "redis::connection_options::first_delay": ("include/coracle/redis/options.hpp", "first_delay"),
    "redis::connection_options::longest_delay": ("include/coracle/redis/options.hpp", "longest_delay"),
    "redis::client_options::command_timeout": ("include/coracle/redis/options.hpp", "command_timeout"),
    "redis::client_options::queued": ("include/coracle/redis/options.hpp", "queued"),
    "redis::client_options::queued_bytes": ("include/coracle/redis/options.hpp", "queued_bytes"),
    "redis::topic_bus_options::queued": ("include/coracle/redis/topic_bus.hpp", "queued"),
    "redis::topic_bus_options::publish_timeout": ("include/coracle/redis/topic_bus.hpp", "publish_timeout"),
    "redis::topic_bus_options::retained": ("include/coracle/redis/topic_bus.hpp", "retained"),
    "redis::topic_bus_options::ping": ("include/coracle/redis/topic_bus.hpp", "ping"),
    "redis::topic_bus_options::drain": ("include/coracle/redis/topic_bus.hpp", "drain"),
    "serve_options::connections": ("include/coracle/net/serve.hpp", "connections"),
    "serve_options::first_pause": ("include/coracle/net/serve.hpp", "first_pause"),
    "serve_options::longest_pause": ("include/coracle/net/serve.hpp", "longest_pause"),
    "serve_options::drain": ("include/coracle/net/serve.hpp", "drain"),
    "socket_options::backlog": ("include/coracle/runtime/backend.hpp", "backlog"),
    "buffer::default_capacity": ("include/coracle/base/buffer.hpp", "default_capacity"),
    "client_h2_options::ping_timeout": ("include/coracle/http/client_options.hpp", "ping_timeout"),
    "client_h2_options::resets": ("include/coracle/http/client_options.hpp", "resets"),
    "client_h2_options::resets_per_second": ("include/coracle/http/client_options.hpp", "resets_per_second"),
    "client_options::receive_block": ("include/coracle/http/client_options.hpp", "receive_block"),
    "forward_options::upgraded_idle": ("include/coracle/http/forward.hpp", "upgraded_idle"),
    "upstream_options::tries": ("include/coracle/http/upstreams.hpp", "tries"),
    "upstream_options::eject_after": ("include/coracle/http/upstreams.hpp", "eject_after"),
    "upstream_options::eject_for": ("include/coracle/http/upstreams.hpp", "eject_for"),
    "upstream_options::health_timeout": ("include/coracle/http/upstreams.hpp", "health_timeout"),
    "in_flight_limit_options::shed_after":
        ("include/coracle/http/middleware/in_flight_limit.hpp", "shed_after"),
    "service_options::handover_patience": ("include/coracle/http/service.hpp", "handover_patience"),
    "takeover::default_patience": ("include/coracle/net/handover.hpp", "default_patience"),
    "retry_options::budget_percent": ("include/coracle/http/client_options.hpp", "budget_percent"),
    "client_options::field_limit": ("include/coracle/http/client_options.hpp", "field_limit"),
    "reader_options::block": ("include/coracle/io/reader.hpp", "block"),
    "reader_options::longest_line": ("include/coracle/io/reader.hpp", "longest_line"),
    "reader_options::most_held": ("include/coracle/io/reader.hpp", "most_held"),
    "writer_options::block": ("include/coracle/io/writer.hpp", "block"),
    "copy_options::block": ("include/coracle/io/copy.hpp", "block"),
    "runtime_options::offload_threads": ("include/coracle/runtime/runtime.hpp", "offload_threads"),
    "runtime_options::file_threads": ("include/coracle/runtime/runtime.hpp", "file_threads"),
    "runtime_options::offload_queue": ("include/coracle/runtime/runtime.hpp", "offload_queue"),
    "thread_pool_options::threads": ("include/coracle/runtime/thread_pool.hpp", "threads"),
    "thread_pool_options::queue": ("include/coracle/runtime/thread_pool.hpp", "queue"),
    "background_options::active": ("include/coracle/runtime/background.hpp", "active"),
    "background_options::drain": ("include/coracle/runtime/background.hpp", "drain"),
    "resolver_options::timeout": ("include/coracle/net/resolver.hpp", "timeout"),
    "resolver_options::attempts": ("include/coracle/net/resolver.hpp", "attempts"),
    "resolver_options::recheck": ("include/coracle/net/resolver.hpp", "recheck"),
    "resolver_options::cache": ("include/coracle/net/resolver.hpp", "cache"),
    "resolver_options::longest_ttl": ("include/coracle/net/resolver.hpp", "longest_ttl"),
    "resolver_options::longest_negative_ttl": ("include/coracle/net/resolver.hpp", "longest_negative_ttl"),
    "resolver_options::questions": ("include/coracle/net/resolver.hpp", "questions"),
    "resolver_options::addresses": ("include/coracle/net/resolver.hpp", "addresses"),
    "resolver_options::domains": ("include/coracle/net/resolver.hpp", "domains"),
    "decoding_limits::decoded": ("include/coracle/coding/content_coding.hpp", "decoded"),
    "decoding_limits::ratio": ("include/coracle/coding/content_coding.hpp", "ratio"),
    "decoding_limits::ratio_from": ("include/coracle/coding/content_coding.hpp", "ratio_from"),
    "decoding_limits::window": ("include/coracle/coding/content_coding.hpp", "window"),
    "decompress_options::window": ("include/coracle/http/compress.hpp", "window"),
    "decompress_options::memory": ("include/coracle/http/compress.hpp", "memory"),
    "decoding_limits::codings": ("include/coracle/coding/content_coding.hpp", "codings"),
    "compress_options::least": ("include/coracle/http/compress.hpp", "least"),
    "file_options::compress_least": ("include/coracle/http/files.hpp", "compress_least"),
    "file_options::compress_most": ("include/coracle/http/files.hpp", "compress_most"),
    "file_options::compress_cache": ("include/coracle/http/files.hpp", "compress_cache"),
    "file_options::listing_entries": ("include/coracle/http/files.hpp", "listing_entries"),
    "cookie_limits::per_domain": ("include/coracle/http/cookie_jar.hpp", "per_domain"),
    "cookie_limits::cookies": ("include/coracle/http/cookie_jar.hpp", "cookies"),
    "cookie_limits::field": ("include/coracle/http/cookie_jar.hpp", "field"),
    "cookie_limits::file": ("include/coracle/http/cookie_jar.hpp", "file"),
    "line_splitter::default_limit": ("include/coracle/http/line_splitter.hpp", "default_limit"),
    "challenge_limits::bytes": ("src/http/client/auth/challenge.hpp", "bytes"),
    "challenge_limits::challenges": ("src/http/client/auth/challenge.hpp", "challenges"),
    "challenge_limits::parameters": ("src/http/client/auth/challenge.hpp", "parameters"),
    "netrc_limit": ("src/http/client/netrc.hpp", "netrc_limit"),
    "default_text_limit": ("include/coracle/fs/whole_file.hpp", "default_text_limit"),
    "walk_options::levels": ("include/coracle/fs/walk.hpp", "levels"),
    "most_levels_removed": ("include/coracle/fs/names.hpp", "most_levels_removed"),
    "line_file_options::buffer": ("include/coracle/fs/line_file.hpp", "buffer"),
    "line_file_options::flush_after": ("include/coracle/fs/line_file.hpp", "flush_after"),
    "datagram_options::largest": ("include/coracle/runtime/datagram_operation.hpp", "largest"),
    "datagram_batch::default_room": ("include/coracle/net/datagram_socket.hpp", "default_room"),
    "unix_socket::default_descriptors": ("include/coracle/net/unix_socket.hpp", "default_descriptors"),
    "unix_socket::max_descriptors": ("include/coracle/runtime/datagram_operation.hpp", "max_descriptors"),
    "watch_options::max_watches": ("include/coracle/fs/watch.hpp", "max_watches"),
    "watch_options::max_pending": ("include/coracle/fs/watch.hpp", "max_pending"),
    "watch_options::settle": ("include/coracle/fs/watch.hpp", "settle"),
    "connect::options::attempt_delay": ("include/coracle/connect/connect.hpp", "default_attempt_delay"),
    "connect::options::resolution_delay": ("include/coracle/connect/connect.hpp", "default_resolution_delay"),
    "connect::options::timeout": ("include/coracle/connect/connect.hpp", "default_timeout"),
    "connect::options::addresses": ("include/coracle/connect/connect.hpp", "default_addresses"),
    "connect::proxy::most_head_bytes": ("include/coracle/connect/proxy.hpp", "most_head_bytes"),
    "connect::proxy::most_head_lines": ("include/coracle/connect/proxy.hpp", "most_head_lines"),
    "connect::proxy::most_interim": ("include/coracle/connect/proxy.hpp", "most_interim"),
    "session_options::longest": ("include/coracle/http/middleware/sessions.hpp", "longest"),
    "memory_session_store_options::sessions": ("include/coracle/http/middleware/session_store.hpp", "sessions"),
    "memory_session_store_options::bytes": ("include/coracle/http/middleware/session_store.hpp", "bytes"),
    "digest_options::nonces": ("include/coracle/http/middleware/digest_authentication.hpp", "nonces"),
    "etag_options::longest": ("include/coracle/http/middleware/etag.hpp", "longest"),
    "jwt_key_set_options::bytes": ("include/coracle/http/middleware/jwt_key_set.hpp", "bytes"),
    "otlp_options::queue": ("include/coracle/http/middleware/otlp_exporter.hpp", "queue"),
    "otlp_options::batch": ("include/coracle/http/middleware/otlp_exporter.hpp", "batch"),
    "dashboard_options::routes": ("include/coracle/http/dashboard.hpp", "routes"),
    "dashboard_options::messages": ("include/coracle/http/dashboard.hpp", "messages"),
    "dashboard_options::viewers": ("include/coracle/http/dashboard.hpp", "viewers"),
    "default_grace": ("include/coracle/process/child.hpp", "default_grace"),
    "capture_limits::output": ("include/coracle/process/command.hpp", "output"),
    "capture_limits::error": ("include/coracle/process/command.hpp", "error"),
    "capture_limits::linger": ("include/coracle/process/command.hpp", "linger"),
    "password_options::limit": ("include/coracle/io/terminal.hpp", "limit"),
    "terminal::most_modes": ("include/coracle/io/terminal.hpp", "most_modes"),
    "websocket::limits::message": ("include/coracle/websocket/options.hpp", "message"),
    "websocket::limits::fragments": ("include/coracle/websocket/options.hpp", "fragments"),
    "websocket::limits::unsent": ("include/coracle/websocket/options.hpp", "unsent"),
    "websocket::limits::handed_over": ("include/coracle/websocket/options.hpp", "handed_over"),
    "websocket::timeouts::ping": ("include/coracle/websocket/options.hpp", "ping"),
    "websocket::timeouts::idle": ("include/coracle/websocket/options.hpp", "idle"),
    "websocket::timeouts::close": ("include/coracle/websocket/options.hpp", "close"),
    "websocket::timeouts::write": ("include/coracle/websocket/options.hpp", "write"),
    "websocket::timeouts::lifetime": ("include/coracle/websocket/options.hpp", "lifetime"),
    "websocket::timeouts::handler": ("include/coracle/websocket/options.hpp", "handler"),
    "reconnect_options::queued": ("include/coracle/websocket/reconnecting.hpp", "queued"),
    "topic_options::backlog": ("include/coracle/websocket/topics.hpp", "backlog"),
    "topic_options::retained": ("include/coracle/websocket/topics.hpp", "retained"),
    "topic_options::handed_over": ("include/coracle/websocket/topics.hpp", "handed_over"),
    "scripted_peer_options::kept": ("include/coracle/testing/scripted_peer.hpp", "kept"),
    "scripted_peer_options::connections": ("include/coracle/testing/scripted_peer.hpp", "connections"),
    "scripted_peer_options::limit": ("include/coracle/testing/scripted_peer.hpp", "limit"),
    "disk_options::capacity": ("include/coracle/testing/simulated_disk.hpp", "capacity"),
}
MILLISECONDS = {"milliseconds": 1, "seconds": 1000, "minutes": 60_000, "hours": 3_600_000}
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "B/s": 1}
TIMES = {"ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000}
MEMBER = re.compile(r"^\s+[\w:]+(?:<[\w:]+>)? (\w+) = ([^;{}]+);", re.MULTILINE)


def value_of(code):
    """What an initializer in C++ comes to: ('time', ms), ('number', n)."""
    code = code.replace("'", "").strip()
    if code == "UINT64_MAX":
        return "number", (1 << 64) - 1
    if match := re.fullmatch(r"std::chrono::(\w+)\((\d+)\)", code):
        return "time", int(match.group(2)) * MILLISECONDS[match.group(1)]
    if re.fullmatch(r"\d+( \* \d+)*", code):
        product = 1
        for factor in code.split(" * "):
            product *= int(factor)
        return "number", product
    return "unreadable", code


def value_said(text):
    """The same for what the document says: "64 KiB", "10,000", "10 s", "unlimited"."""
    text = text.strip()
    if text == "unlimited":
        return "number", (1 << 64) - 1
    match = re.fullmatch(r"([\d,]+) ?(\S*)", text)
    if not match:
        return "unreadable", text
    number, unit = int(match.group(1).replace(",", "")), match.group(2)
    if unit in TIMES:
        return "time", number * TIMES[unit]
    return ("number", number * UNITS[unit]) if unit in UNITS else ("unreadable", text)


def members(root, name):
    text = (root / SERVER).read_text(encoding="utf-8")
    body = re.search(rf"^struct {name} \{{\n(.*?)^\}};", text, re.MULTILINE | re.DOTALL).group(1)
    return dict(MEMBER.findall(source_tree.without_comments_and_literals(body).replace("'", "")))


def constant(root, path, name):
    text = (root / path).read_text(encoding="utf-8")
    match = re.search(rf"\b{name} = ([^;]+);", text)
    return match and match.group(1)


def rows(root):
    """(line number, cells) of each row of a table whose first cell is in backticks."""
    lines = (root / DOCUMENT).read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if line.startswith("| `"):
            yield number, [cell.strip() for cell in line.strip("| ").split(" | ")]


def check(root):
    defaults = {f"limits.{n}": code for n, code in members(root, "server_limits").items()}
    defaults |= {f"timeouts.{n}": code for n, code in members(root, "server_timeouts").items()}
    defaults |= {name: constant(root, *place) for name, place in EXTRA.items()}
    for limits, path in VERSION_LIMITS.items():
        defaults |= {f"{limits}::{name}": constant(root, path, name)
                     for name in re.findall(r"std::uint32_t (\w+) =", (root / path).read_text())}
    counters = set(members(root, "server_counters"))
    seen = set()
    for number, cells in rows(root):
        name = cells[0].strip("`")
        where = f"{DOCUMENT}:{number}: {name}"
        if ":" in name and name not in defaults:  # path:constant
            code = constant(root, *name.split(":")) if (root / name.split(":")[0]).exists() else None
        else:
            code = defaults.get(name)
        if name in seen:
            yield f"{where} has two rows"
        seen.add(name)
        if name in counters:
            continue
        if code is None:
            yield f"{where} is not in the code"
        elif value_of(code)[0] == "unreadable" or value_of(code) != value_said(cells[1]):
            yield f"{where} is {cells[1]} in the document and {code} in the code"
        if name.startswith(("limits.", "timeouts.", "h1_limits::")):
            for counter in re.findall(r"`(\w+)`", cells[-1]):
                if counter not in counters:
                    yield f"{where} names {counter}, which is no counter"
    for name in sorted((set(defaults) | counters) - seen):
        yield f"{DOCUMENT}: there is no row for {name}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, default=source_tree.ROOT)
    return source_tree.report(list(check(parser.parse_args().root)),
                              "limits: the document says what the code does")


if __name__ == "__main__":
    sys.exit(main())
