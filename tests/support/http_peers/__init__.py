"""Other people's HTTP servers, as fixtures for tests of the client. Each starts on a loopback port that
it picks and is stopped at the end of a `with`:

    with Nginx() as nginx:
        get(nginx.url("hello"))

`PATHS` of each names the behaviours that it has, with the same names for all of them, and where they
are; `url(behaviour)` makes the URL. What the behaviours are stands in `process.py`.
"""

from .aiohttp_peer import Aiohttp
from .apache import Apache
from .go_programs import HttpBin, Toxiproxy
from .nginx import Nginx, NginxH2

BEHAVING = [Nginx, Apache, HttpBin, Aiohttp]
"""Those that have behaviours."""
