"""Creates a session and a connection, lists, signals, closes: SERVICE_URL=… SERVICE_SECRET=… python3 session.py [id]"""
import base64
import http.client
import json
import os
import sys
import urllib.error
import urllib.parse
import urllib.request

for name in ("SERVICE_URL", "SERVICE_SECRET"):
    if not os.environ.get(name):
        sys.exit(f"{name} is not set")
URL = os.environ["SERVICE_URL"].rstrip("/") + "/service/api"
SECRET = os.environ["SERVICE_SECRET"]
AUTHORIZATION = "Basic " + base64.b64encode(f"SERVICEAPP:{SECRET}".encode()).decode()


def call(method, path, body=None):
    try:
        status, answer = exchange(method, path, body)
    except urllib.error.URLError as error:
        sys.exit(f"The service is not reachable at {URL}: check SERVICE_URL. {error.reason}")
    except (OSError, http.client.HTTPException) as error:
        sys.exit(f"The service does not answer {method} {path} completely: try again later. {error}")
    if status == 401:
        sys.exit(f"The service rejects the credentials (401): check SERVICE_SECRET. {message_of(answer)}")
    if status == 429 or status >= 500:
        sys.exit(f"The service does not process {method} {path} ({status}): try again later. {message_of(answer)}")
    return status, answer


def exchange(method, path, body):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": AUTHORIZATION, "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers, method=method), timeout=30) as answer:
            return answer.status, parse(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, parse(error.read())


def parse(text):
    """A proxy may answer with a page that is not JSON."""
    try:
        return json.loads(text) if text else None
    except ValueError:
        return text.decode(errors="replace")


def message_of(body):
    return body.get("message", "") if isinstance(body, dict) else ""


room = sys.argv[1] if len(sys.argv) > 1 else "python-room"
path = "/sessions/" + urllib.parse.quote(room, safe="")
status, session = call("POST", "/sessions", {"customSessionId": room})
if status not in (200, 409):  # 409: it exists, which is as good
    sys.exit(f"The service creates no session ({status}): {message_of(session)}")
print("create", status)
status, connection = call("POST", f"{path}/connection", {"role": "PUBLISHER", "data": "Ann"})
if status != 200:
    sys.exit(f"The service creates no connection ({status}): {message_of(connection)}")
print("connection", status, "token" if connection.get("token") else connection)
status, sessions = call("GET", "/sessions")
print("list", status, room in [one["id"] for one in sessions["content"]])
print("signal", call("POST", "/signal", {"session": room, "type": "chat", "data": "hello"})[0])  # 406: nobody there
print("close", call("DELETE", path)[0])
