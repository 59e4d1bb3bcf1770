"""nginx, with one worker."""

import shutil
import subprocess
import zlib

from .process import TEXT, ConfiguredPeer, find, is_root

REDIRECTS = "\n".join(f"location = /redirect/{s} {{ return {s} /hello; }}"
                      for s in (301, 302, 303, 307, 308))
CONFIG = """
daemon off; {user} worker_processes 1; pid {directory}/nginx.pid; error_log stderr notice;
events {{ worker_connections 1024; }}
http {{
    client_body_temp_path {directory}/body; proxy_temp_path {directory}/proxy;
    fastcgi_temp_path {directory}/fastcgi; uwsgi_temp_path {directory}/uwsgi;
    scgi_temp_path {directory}/scgi;
    access_log off; default_type text/plain; root {directory}/www;
    types {{ application/octet-stream bin; }}
    server {{
        listen 127.0.0.1:{port}{protocol}; absolute_redirect off;
        {redirects}
        location = /loop {{ return 302 /loop; }}
        location = /text.txt {{ gzip on; gzip_min_length 1; gzip_types text/plain; }}
        location = /text.zz {{ default_type text/plain; add_header Content-Encoding deflate; }}
        location = /text.zst {{ default_type text/plain; add_header Content-Encoding zstd; }}
        location = /cookies {{ add_header Set-Cookie "flavour=oat; Path=/"; return 200 "set"; }}
        location = /cookie-wanted {{
            if ($cookie_flavour != oat) {{ return 403; }}
            alias {directory}/www/hello;
        }}
        location = /basic {{
            auth_basic "a realm"; auth_basic_user_file {directory}/users; alias {directory}/www/hello;
        }}
        location = /drip {{ limit_rate 50k; alias {directory}/www/file.bin; }}
        location = /trailers {{ add_trailer X-Sum abc; alias {directory}/www/hello; }}
        location = /no-response {{ return 444; }}
        location = /no-keep-alive {{ keepalive_timeout 0; alias {directory}/www/hello; }}
    }}
}}
"""


class Nginx(ConfiguredPeer):
    PROTOCOL = ""
    PATHS = {
        "hello": "/hello",
        **{f"redirect_{s}": f"/redirect/{s}" for s in (301, 302, 303, 307, 308)},
        "redirect_loop": "/loop",
        "gzip": "/text.txt",
        "deflate": "/text.zz",
        "file": "/file.bin",
        "cookies": "/cookies",
        "cookie_wanted": "/cookie-wanted",
        "basic": "/basic",
        "drip": "/drip",
        "trailers": "/trailers",
        "no_response": "/no-response",
        "no_keep_alive": "/no-keep-alive",
    }

    def __init__(self):
        program = find("nginx", "nginx-light")
        zstd = shutil.which("zstd")
        if zstd is not None:
            self.PATHS = {**self.PATHS, "zstd": "/text.zst"}

        def command(directory, port):
            (directory / "users").write_text("user:{PLAIN}secret\n")
            # As sites store it that do not compress for each request.
            (directory / "www" / "text.zz").write_bytes(zlib.compress(TEXT))
            if zstd is not None:
                compressed = subprocess.check_output([zstd, "-c"], input=TEXT)
                (directory / "www" / "text.zst").write_bytes(compressed)
            (directory / "nginx.conf").write_text(CONFIG.format(
                user="user www-data;" if is_root() else "", directory=directory, port=port,
                protocol=self.PROTOCOL, redirects=REDIRECTS))
            return [program, "-c", directory / "nginx.conf", "-p", directory, "-e", "stderr"]

        super().__init__(command, ready="start worker process ")


class NginxH2(Nginx):
    """Speaks nothing but HTTP/2, without TLS."""

    PROTOCOL = " http2"
