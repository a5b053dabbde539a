// A port on the JDK's own server, which hands results on as they were sent, without reading them. The fault "single" keeps
// the default executor, which serves one request at a time; "fallback" answers from the tool's original body.

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.concurrent.Executors;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

public class Port {
    static final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    static final Pattern transientClass = Pattern.compile("\"(lock_contention|context_store_unavailable|trace_sequence_contended)\"");
    static String fault;

    // The value of a member, as it is in the text: the depth of braces and brackets tells where it ends.
    static String member(String json, String name) {
        Matcher found = Pattern.compile("\"" + name + "\"\\s*:\\s*").matcher(json);
        if (!found.find()) return null;
        int depth = 0;
        boolean text = false;
        for (int i = found.end(); i < json.length(); i++) {
            char c = json.charAt(i);
            if (text && c == '\\') i++;
            else if (c == '"') text = !text;
            else if (!text && (c == '{' || c == '[')) depth++;
            else if (!text && (c == '}' || c == ']' || c == ',') && depth == 0) return json.substring(found.end(), i).strip();
            else if (!text && (c == '}' || c == ']')) depth--;
        }
        return null;
    }

    static String unquote(String json) {
        return json == null || json.length() < 2 || json.charAt(0) != '"' ? null : json.substring(1, json.length() - 1).replace("\\/", "/");
    }

    static String quote(String text) {
        StringBuilder b = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') b.append('\\').append(c);
            else if (c < ' ') b.append(String.format("\\u%04x", (int) c));
            else b.append(c);
        }
        return b.append('"').toString();
    }

    static class Over extends Exception {}

    static String call(String base, String token, String name) throws Exception {
        for (long wait = 200; ; wait *= 2) {
            HttpResponse<String> answer = client.send(HttpRequest.newBuilder(URI.create(base.replaceAll("/+$", "") + "/tools/" + name))
                .timeout(Duration.ofSeconds(120)).header("Authorization", "Bearer " + token).header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{\"order_id\":\"4521\"}")).build(), HttpResponse.BodyHandlers.ofString());
            int status = answer.statusCode();
            if (status == 200) return member(answer.body(), "response");
            if (status == 401) throw new Over();
            boolean again = status == 429 || status == 503 && transientClass.matcher(answer.body()).find();
            if (!again || wait > 1000) return fault.equals("fallback") ? "{\"status\":\"shipped\"}" : "{\"error\":" + quote(answer.body()) + "}";
            Thread.sleep(wait);
        }
    }

    static void say(HttpExchange e, int status, String json) throws IOException {
        byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
        e.getResponseHeaders().set("Content-Type", "application/json; charset=utf-8");
        e.sendResponseHeaders(status, bytes.length);
        e.getResponseBody().write(bytes);
        e.close();
    }

    static String header(HttpExchange e, String name) {
        String value = e.getRequestHeaders().getFirst(name);
        return value == null ? "" : value;
    }

    static void handle(HttpExchange e) throws IOException {
        try {
            byte[] want = ("Bearer " + System.getenv("AGENT_TOKEN")).getBytes();
            if (!MessageDigest.isEqual(want, header(e, "Authorization").getBytes())) { say(e, 401, "{\"error\":\"unauthorized\"}"); return; }
            if (!e.getRequestMethod().equals("POST")) { say(e, 405, "{\"error\":\"POST\"}"); return; }
            byte[] bytes = e.getRequestBody().readNBytes((4 << 20) + 1);
            if (bytes.length > 4 << 20) { say(e, 413, "{\"error\":\"too large\"}"); return; }
            String body = new String(bytes, StandardCharsets.UTF_8).strip();
            if (body.replaceAll("\\s", "").equals("{\"ping\":true}")) { say(e, 200, "{\"ok\":true}"); return; }
            String base = unquote(member(body, "odyssey_proxy_url")), token = header(e, "X-Pipelines-Run-Token");
            if (base == null) base = header(e, "X-Pipelines-Odyssey-Proxy-Url");
            String said = member(body, "user_instruction");
            if (base.isEmpty() || token.isEmpty() || said == null || !body.endsWith("}")) { say(e, 400, "{\"error\":\"no dispatch\"}"); return; }
            String rows = "{\"role\":\"user\",\"content\":" + said + "}", last = "";
            try {
                for (String name : new String[] {"get_order", "refund_order"}) {
                    String result = call(base, token, name);
                    rows += ",{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"" + name + "\",\"name\":\"" + name
                        + "\",\"arguments\":{\"order_id\":\"4521\"}}]},{\"role\":\"tool\",\"tool_call_id\":\"" + name + "\",\"content\":" + quote(result) + "}";
                    last = "Done: " + name;
                }
            } catch (Over over) {
                last = "The run is over.";
            }
            say(e, 200, "{\"final_response\":" + quote(last) + ",\"messages\":[" + rows + ",{\"role\":\"assistant\",\"content\":" + quote(last) + "}]}");
        } catch (Exception problem) {
            say(e, 500, "{\"error\":" + quote(String.valueOf(problem)) + "}");
        }
    }

    public static void main(String[] args) throws Exception {
        fault = args[1];
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 0);
        if (!fault.equals("single")) server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/dispatch", Port::handle);
        server.start();
    }
}
