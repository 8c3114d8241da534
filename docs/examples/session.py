"""Creates a session and a connection, lists, signals, closes: SERVICE_URL=… SERVICE_SECRET=… python3 session.py [id]"""
import base64
import json
import os
import sys
import urllib.error
import urllib.request

URL = os.environ["SERVICE_URL"].rstrip("/") + "/service/api"
SECRET = os.environ["SERVICE_SECRET"]
AUTHORIZATION = "Basic " + base64.b64encode(f"SERVICEAPP:{SECRET}".encode()).decode()


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": AUTHORIZATION, "Content-Type": "application/json"}
    try:
        with urllib.request.urlopen(urllib.request.Request(URL + path, data, headers, method=method), timeout=30) as answer:
            text = answer.read()
            return answer.status, json.loads(text) if text else None
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read() or "null")


room = sys.argv[1] if len(sys.argv) > 1 else "python-room"
print("create", call("POST", "/sessions", {"customSessionId": room})[0])  # 409: it exists, which is as good
status, connection = call("POST", f"/sessions/{room}/connection", {"role": "PUBLISHER", "data": "Ann"})
print("connection", status, "token" if connection.get("token") else connection)
print("list", call("GET", "/sessions")[0], room in [one["id"] for one in call("GET", "/sessions")[1]["content"]])
print("signal", call("POST", "/signal", {"session": room, "type": "chat", "data": "hello"})[0])  # 406: nobody there
print("close", call("DELETE", f"/sessions/{room}")[0])
