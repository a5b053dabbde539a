# A port on Django. The fault "environ" keeps the URL and the token of a run in the environment of the process, as the
# document does for code mode.
import hmac
import json
import os
import socketserver
import sys
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application
from django.http import JsonResponse
from django.urls import path
from shim import Over, call

BEARER = "Bearer " + os.environ["AGENT_TOKEN"]


def endpoint(request):
    if request.method != "POST":
        return JsonResponse({"detail": "use POST"}, status=405)
    if not hmac.compare_digest(request.headers.get("Authorization", ""), BEARER):
        return JsonResponse({"detail": "who are you?"}, status=401)
    if int(request.headers.get("Content-Length") or 0) > 4 << 20:
        return JsonResponse({"detail": "too large"}, status=413)
    try:
        body = json.loads(request.body)
    except ValueError:
        return JsonResponse({"detail": "not JSON"}, status=400)
    if body == {"ping": True}:
        return JsonResponse({"ok": True})
    os.environ["PROXY_URL"] = body.get("odyssey_proxy_url") or request.headers.get("X-Pipelines-Odyssey-Proxy-Url") or ""
    os.environ["RUN_TOKEN"] = request.headers.get("X-Pipelines-Run-Token") or ""
    try:
        found = call(os.environ["PROXY_URL"], os.environ["RUN_TOKEN"], "get_order", {"order_id": "4521"})
        done = call(os.environ["PROXY_URL"], os.environ["RUN_TOKEN"], "refund_order", {"order_id": "4521"})
    except Over:
        return JsonResponse({"final_response": "The run is over: error."})
    return JsonResponse({"final_response": f"Order {json.dumps(found)}, refund {json.dumps(done)}."})


class Server(socketserver.ThreadingMixIn, WSGIServer):
    daemon_threads = True


class Handler(WSGIRequestHandler):
    def log_message(self, *_):
        pass


settings.configure(ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"], SECRET_KEY="none", DATA_UPLOAD_MAX_MEMORY_SIZE=None)
django.setup()
urlpatterns = [path("dispatch", endpoint)]
server = Server(("127.0.0.1", int(sys.argv[1])), Handler)
server.set_app(get_wsgi_application())
server.serve_forever()
