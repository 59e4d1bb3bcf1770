"""httpx as a client of our HTTP/2, by the Python that has it: httpx_client.py URL [AUTHORITY]"""

import asyncio
import os
import sys

import httpx


async def talk(url, authority):
    clear = authority is None
    # By one task each on one thread: of several threads httpcore mixes up the streams.
    async with httpx.AsyncClient(http1=not clear, http2=True, verify=authority or True,
                                 trust_env=False, timeout=60) as client:
        told = await client.get(url + "/version")
        assert (told.text, told.http_version) == ("HTTP/2", "HTTP/2"), (told.text, told.http_version)
        sent = [os.urandom(10_000 * i) for i in range(20)]
        got = await asyncio.gather(*[client.post(url + "/echo", content=body) for body in sent])
        assert [response.content for response in got] == sent
        assert len((await client.get(url + "/zeros?bytes=3000000")).content) == 3_000_000


asyncio.run(talk(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None))
