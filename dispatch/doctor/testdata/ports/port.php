<?php
// A port in PHP without a framework, with the nested form of tool calls. The fault "cast" makes a text of each result, as
// PHP does in an interpolation.
$fault = getenv('FAULT');
const TRANSIENT = ['lock_contention', 'context_store_unavailable', 'trace_sequence_contended'];

function say(int $status, array $value): void {
    http_response_code($status);
    header('Content-Type: application/json');
    echo json_encode($value);
    exit;
}

function tool(string $base, string $token, string $name, array $arguments, bool &$over): mixed {
    for ($attempt = 0; ; $attempt++) {
        $curl = curl_init(rtrim($base, '/') . '/tools/' . $name);
        curl_setopt_array($curl, [
            CURLOPT_POSTFIELDS => json_encode($arguments), CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 120,
            CURLOPT_HTTPHEADER => ['Content-Type: application/json', 'Authorization: Bearer ' . $token],
        ]);
        $text = curl_exec($curl);
        $status = curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
        $value = json_decode($text, true);
        if ($status === 200) {
            return $value['response'];
        }
        $over = $status === 401;
        $again = $status === 429 || $status === 503 && in_array($value['detail']['error_class'] ?? '', TRANSIENT, true);
        if (!$again || $attempt === 3) {
            return ['error' => $text];
        }
        usleep(200_000 * 2 ** $attempt);
    }
}

if ($_SERVER['REQUEST_METHOD'] !== 'POST') {
    say(405, ['error' => 'POST']);
}
if (!hash_equals('Bearer ' . getenv('AGENT_TOKEN'), $_SERVER['HTTP_AUTHORIZATION'] ?? '')) {
    say(401, ['error' => 'unauthorized']);
}
if ((int) ($_SERVER['CONTENT_LENGTH'] ?? 0) > 4 << 20) {
    say(413, ['error' => 'too large']);
}
$body = json_decode(file_get_contents('php://input'), true);
if (!is_array($body)) {
    say(400, ['error' => 'not a JSON object']);
}
if ($body === ['ping' => true]) {
    say(200, ['ok' => true]);
}
$base = $body['odyssey_proxy_url'] ?? $_SERVER['HTTP_X_PIPELINES_ODYSSEY_PROXY_URL'] ?? '';
$token = $_SERVER['HTTP_X_PIPELINES_RUN_TOKEN'] ?? '';
if ($base === '' || $token === '') {
    say(400, ['error' => 'no run']);
}
$messages = [['role' => 'system', 'content' => 'Refund orders.'], ['role' => 'user', 'content' => $body['input']['user_instruction']]];
$over = false;
foreach (['get_order', 'refund_order'] as $name) {
    $arguments = ['order_id' => '4521'];
    $messages[] = ['role' => 'assistant', 'content' => null, 'tool_calls' => [
        ['id' => $name, 'type' => 'function', 'function' => ['name' => $name, 'arguments' => json_encode($arguments)]],
    ]];
    $result = tool($base, $token, $name, $arguments, $over);
    $messages[] = ['role' => 'tool', 'tool_call_id' => $name, 'content' =>
        $fault === 'cast' ? @(string) $result : (is_string($result) ? $result : json_encode($result, JSON_UNESCAPED_UNICODE | JSON_PRETTY_PRINT))];
    if ($over) {
        break;
    }
}
$final = $over ? 'Stopped: the token has expired.' : 'The order was looked up and refunded.';
$messages[] = ['role' => 'assistant', 'content' => $final];
say(200, ['final_response' => $final, 'messages' => $messages]);
