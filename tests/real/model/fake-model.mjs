#!/usr/bin/env node
// Fake LLM server for driving coding agents offline. Binds 127.0.0.1 only. No dependencies.
//   node fake-model-rpc.mjs --port 18080 [--log requests.jsonl]      (--port 0 = any; prints {"port":N})
// APIs: OpenAI chat completions (/v1/chat/completions), OpenAI responses (/v1/responses, SSE),
//       Gemini (/v1beta/models/X:generateContent | :streamGenerateContent | :countTokens), GET /v1/models.
// Script: the LAST user message that holds "@@" decides. Steps are separated by " &&& "; step i is used after
// the tool calls of steps 0..i-1 have results. One step is:
//   @@text TEXT            stream TEXT in small pieces      @@think THOUGHT|ANSWER   reasoning, then text
//   @@call NAME {json}     one tool call                    @@calls [{"name":..,"args":{..}},..]  parallel calls
//   @@saycall TEXT|NAME {json}  text, then a tool call      @@thinkcall THOUGHT|NAME {json}
//   @@custom NAME RAWTEXT  responses API only: custom tool call (e.g. apply_patch), \n = newline
//   @@slow MS N            N words, one per MS ms           @@hang       headers, then nothing
//   @@hangreq              never answer at all              @@err CODE   HTTP error (401, 429, 500, ...)
//   @@errmid               SSE cut in the middle            @@malformed  200 with junk SSE
//   @@echo                 says which content parts came    @@uni        unicode (emoji, ZWJ, CJK, surrogate cuts)
//   @@lone       half a surrogate pair                     @@u2028      U+2028, U+2029, U+0085, CR, CRLF in the text
//   @@empty      no text at all, finish_reason stop         @@late MS TEXT  TEXT, after MS ms of silence
//   @@mdlong N             N lines of text                  @@model      says the model name and the tools seen
//   Inside a delegate_task goal write %% for @@ and ;; for &&&.
// --scripts FILE: a JSON object of what a person may say, in plain words, to the directives that it stands for; read anew for each request.
// A request with no tools (title, router, summary) gets a short fixed answer, unless FAKE_STRICT=1.
import http from "node:http";
import fs from "node:fs";
const argv = process.argv.slice(2);
const opt = (k, d) => { const i = argv.indexOf("--" + k); return i < 0 ? d : argv[i + 1]; };
const PORT = Number(opt("port", "18080")), LOG = opt("log", ""), SCRIPTS = opt("scripts", "");
const sleep = ms => new Promise(r => setTimeout(r, ms));
let n = 0;
const log = o => { if (LOG) fs.appendFileSync(LOG, JSON.stringify(o) + "\n"); };

function parseStep(s) {
  s = s.trim();
  const m = /^@@(\w+)\s*([\s\S]*)$/.exec(s);
  if (!m) return { op: "text", arg: s };
  const [, op, arg] = m;
  const named = a => { const i = a.search(/\s/); const name = i < 0 ? a : a.slice(0, i); let args = {}; try { args = JSON.parse(i < 0 ? "{}" : a.slice(i)); } catch { args = { _raw: a.slice(i) }; } return { name, args }; };
  if (op === "call") return { op: "call", calls: [named(arg)] };
  if (op === "calls") return { op: "call", calls: JSON.parse(arg) };
  if (op === "saycall" || op === "thinkcall") { const i = arg.indexOf("|"); return { op: "call", [op === "saycall" ? "say" : "think"]: arg.slice(0, i), calls: [named(arg.slice(i + 1).trim())] }; }
  if (op === "custom") { const i = arg.search(/\s/); return { op: "call", calls: [{ name: arg.slice(0, i), custom: arg.slice(i + 1).replaceAll("\\n", "\n") }] }; }
  return { op, arg };
}
// msgs: [{role:"user"|"assistant"|"tool", text, parts}]
function plan(msgs, hasTools) {
  // for a sub-agent's goal: %% stands for @@ and ;; for &&& (so that the parent's script can carry it)
  for (const m of msgs) if (m.role === "user" && !m.text.includes("@@") && m.text.includes("%%")) m.text = m.text.slice(m.text.indexOf("%%")).split("\n")[0].replaceAll("%%", "@@").replaceAll(";;", "&&&");
  if (SCRIPTS && fs.existsSync(SCRIPTS)) for (const [said, does] of Object.entries(JSON.parse(fs.readFileSync(SCRIPTS, "utf8")))) for (const m of msgs) if (m.role === "user" && m.text.includes(said)) m.text = does;
  let at = -1;
  for (let i = msgs.length - 1; i >= 0; i--) if (msgs[i].role === "user" && msgs[i].text.includes("@@")) { at = i; break; }
  if (!hasTools && process.env.FAKE_STRICT !== "1") return { op: "aux" };
  if (at < 0) return { op: "text", arg: "no directive" };
  // Hermes merges neighbouring user messages (after a failed turn) with a blank line: the last paragraph that starts with @@ counts.
  const text = msgs[at].text, cut = text.lastIndexOf("\n\n@@"), steps = text.slice(cut >= 0 ? cut + 2 : text.indexOf("@@")).split("&&&").map(parseStep);
  let outs = msgs.slice(at + 1).filter(m => m.role === "tool").length;
  const last = [...msgs].reverse().find(m => m.role === "tool");
  for (const st of steps) { if (st.op !== "call") return { ...st, msgs, at }; if (outs < st.calls.length) return st; outs -= st.calls.length; }
  return { op: "text", arg: "done; tool said: " + (last ? last.text.slice(0, 400) : "") };
}
function pieces(st) {
  switch (st.op) {
    case "aux": return ["Fake title"];
    case "empty": return [];
    case "lone": return ["half ", "\ud83d", " pair"];
    case "u2028": return ["line\u2028sep ", "para\u2029sep ", "nel\u0085 ", "cr\rlf\r\n ", "end"];
    case "uni": return ["A👩‍👩‍👧‍👦B ", "日本", "語テキスト ", "e\u0301 ", "🇯🇵", " ünï\ncode ", "𝒳", " end"];
    case "mdlong": return Array.from({ length: Number(st.arg || 10) }, (_, i) => `line ${i} of markdown text\n`);
    case "think": return st.arg.split("|").slice(1).join("|").match(/\s*\S+/g) ?? [];
    case "echo": { const m = st.msgs[st.at]; return ["parts: ", JSON.stringify(m.parts)]; }
    case "slow": { const [, k] = st.arg.trim().split(/\s+/); return Array.from({ length: Number(k || 10) }, (_, i) => `w${i} `); }
    default: return (st.arg ?? "").match(/\s*\S+/g) ?? [""];
  }
}
const thoughts = st => st.op === "think" ? (st.arg.split("|")[0].match(/\s*\S+/g) ?? []) : st.think ? st.think.match(/\s*\S+/g) : [];
const delay = st => st.op === "slow" ? Number(st.arg.trim().split(/\s+/)[0]) : 4;
const errBody = (code, api) => api === "gemini"
  ? { error: { code, message: `fake error ${code}`, status: code === 401 ? "UNAUTHENTICATED" : code === 429 ? "RESOURCE_EXHAUSTED" : "INTERNAL" } }
  : { error: { message: `fake error ${code}`, type: code === 429 ? "rate_limit_error" : code === 401 ? "invalid_request_error" : "server_error", code: code === 401 ? "invalid_api_key" : null } };

async function special(st, res, api, sse) {
  if (st.op === "late") { const ms = /^\d+/.exec(st.arg)?.[0] ?? "0"; await sleep(Number(ms)); st.op = "text"; st.arg = st.arg.slice(ms.length).trim(); }
  if (st.op === "err") { const c = parseInt(st.arg) || 500; res.writeHead(c, { "content-type": "application/json" }); res.end(JSON.stringify(errBody(c, api))); return true; }
  if (st.op === "hangreq") { await new Promise(r => res.on("close", r)); return true; }
  if (st.op === "hang") { res.writeHead(200, { "content-type": sse ? "text/event-stream" : "application/json" }); res.flushHeaders(); await new Promise(r => res.on("close", r)); return true; }
  if (st.op === "malformed") { res.writeHead(200, { "content-type": sse ? "text/event-stream" : "application/json" }); res.end("data: {this is not json\n\ndata: <html>\n\n"); return true; }
  return false;
}
const flat = c => typeof c === "string" ? c : Array.isArray(c) ? c.map(p => p.text ?? p.output ?? "").join("\n") : c == null ? "" : JSON.stringify(c);
const kinds = c => typeof c === "string" ? [{ type: "string", n: c.length }] : (c ?? []).map(p => ({ type: p.type ?? Object.keys(p)[0], n: JSON.stringify(p).length, head: JSON.stringify(p).slice(0, 120) }));

async function chat(body, res) {
  const msgs = (body.messages ?? []).map(m => ({ role: m.role, text: flat(m.content), parts: kinds(m.content) }));
  const st = plan(msgs, (body.tools ?? []).length > 0), id = "chatcmpl-" + ++n, model = body.model;
  if (st.op === "model") { st.op = "text"; st.arg = `model=${model} tools=${(body.tools ?? []).map(t => t.function?.name).join(",")}`; }
  if (await special(st, res, "openai", body.stream)) return;
  const usage = { prompt_tokens: 1000 + n, completion_tokens: 20, total_tokens: 1020 + n, prompt_tokens_details: { cached_tokens: 300 }, completion_tokens_details: { reasoning_tokens: thoughts(st).length } };
  const calls = st.op === "call" ? st.calls : [];
  const txt = st.op === "call" ? (st.say ? [st.say] : []) : pieces(st), th = thoughts(st);
  if (!body.stream) {
    const tc = calls.map((c, i) => ({ id: `call_${n}_${i}`, type: "function", function: { name: c.name, arguments: JSON.stringify(c.args) } }));
    res.writeHead(200, { "content-type": "application/json" });
    return res.end(JSON.stringify({ id, object: "chat.completion", created: 1, model, choices: [{ index: 0, message: { role: "assistant", content: txt.join("") || null, ...(th.length ? { reasoning_content: th.join("") } : {}), ...(tc.length ? { tool_calls: tc } : {}) }, finish_reason: tc.length ? "tool_calls" : "stop" }], usage }));
  }
  res.writeHead(200, { "content-type": "text/event-stream" });
  const send = (delta, fin = null, extra = {}) => res.write("data: " + JSON.stringify({ id, object: "chat.completion.chunk", created: 1, model, choices: [{ index: 0, delta, finish_reason: fin }], ...extra }) + "\n\n");
  send({ role: "assistant", content: "" });
  for (const t of th) { send({ reasoning_content: t }); await sleep(delay(st)); if (res.destroyed) return; }
  let k = 0;
  for (const t of txt) { send({ content: t }); await sleep(delay(st)); if (res.destroyed) return; if (st.op === "errmid" && ++k === 1) return res.destroy(); }
  if (st.op === "errmid") return res.destroy();
  calls.forEach((c, i) => { const a = JSON.stringify(c.args); send({ tool_calls: [{ index: i, id: `call_${n}_${i}`, type: "function", function: { name: c.name, arguments: "" } }] }); for (let j = 0; j < a.length; j += 40) send({ tool_calls: [{ index: i, function: { arguments: a.slice(j, j + 40) } }] }); });
  send({}, calls.length ? "tool_calls" : "stop");
  res.write("data: " + JSON.stringify({ id, object: "chat.completion.chunk", created: 1, model, choices: [], usage }) + "\n\n");
  res.end("data: [DONE]\n\n");
}

async function responses(body, res) {
  const inp = typeof body.input === "string" ? [{ type: "message", role: "user", content: body.input }] : body.input ?? [];
  const msgs = inp.map(m => (m.type ?? "").endsWith("_output") ? { role: "tool", text: flat(m.output) } : m.role ? { role: m.role, text: flat(m.content), parts: kinds(m.content) } : { role: "assistant", text: "" });
  const st = plan(msgs, (body.tools ?? []).length > 0), id = "resp_" + ++n;
  if (st.op === "model") { st.op = "text"; st.arg = `model=${body.model} tools=${(body.tools ?? []).map(t => t.name ?? t.type).join(",")}`; }
  if (await special(st, res, "openai", body.stream)) return;
  const calls = st.op === "call" ? st.calls : [], txt = st.op === "call" ? (st.say ? [st.say] : []) : pieces(st), th = thoughts(st);
  res.writeHead(200, { "content-type": "text/event-stream" });
  let seq = 0; const ev = (type, o) => res.write(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: seq++, ...o })}\n\n`);
  const out = []; let ix = 0;
  ev("response.created", { response: { id, object: "response", status: "in_progress", model: body.model, output: [] } });
  if (th.length) {
    const item = { id: "rs_" + n, type: "reasoning", summary: [] };
    ev("response.output_item.added", { output_index: ix, item });
    ev("response.reasoning_summary_part.added", { item_id: item.id, output_index: ix, summary_index: 0, part: { type: "summary_text", text: "" } });
    for (const t of th) { ev("response.reasoning_summary_text.delta", { item_id: item.id, output_index: ix, summary_index: 0, delta: t }); await sleep(delay(st)); }
    ev("response.reasoning_summary_text.done", { item_id: item.id, output_index: ix, summary_index: 0, text: th.join("") });
    item.summary = [{ type: "summary_text", text: th.join("") }]; ev("response.output_item.done", { output_index: ix++, item }); out.push(item);
  }
  if (txt.length) {
    const item = { id: "msg_" + n, type: "message", role: "assistant", status: "in_progress", content: [] };
    ev("response.output_item.added", { output_index: ix, item });
    ev("response.content_part.added", { item_id: item.id, output_index: ix, content_index: 0, part: { type: "output_text", text: "", annotations: [] } });
    for (const t of txt) { ev("response.output_text.delta", { item_id: item.id, output_index: ix, content_index: 0, delta: t }); await sleep(delay(st)); if (res.destroyed) return; if (st.op === "errmid") return res.destroy(); }
    const full = { ...item, status: "completed", content: [{ type: "output_text", text: txt.join(""), annotations: [] }] };
    ev("response.output_item.done", { output_index: ix++, item: full }); out.push(full);
  }
  calls.forEach((c, i) => {
    const item = c.custom !== undefined ? { id: `ct_${n}_${i}`, type: "custom_tool_call", status: "completed", call_id: `call_${n}_${i}`, name: c.name, input: c.custom }
      : { id: `fc_${n}_${i}`, type: "function_call", status: "completed", call_id: `call_${n}_${i}`, name: c.name, ...(c.namespace ? { namespace: c.namespace } : {}), arguments: JSON.stringify(c.args) };
    ev("response.output_item.added", { output_index: ix, item }); ev("response.output_item.done", { output_index: ix++, item }); out.push(item);
  });
  ev("response.completed", { response: { id, object: "response", status: "completed", model: body.model, output: out, usage: { input_tokens: 1000 + n, input_tokens_details: { cached_tokens: 300 }, output_tokens: 20, output_tokens_details: { reasoning_tokens: th.length }, total_tokens: 1020 + n } } });
  res.end();
}

async function gemini(url, body, res) {
  const verb = url.split("?")[0].split(":").pop(), model = /models\/([^:]+):/.exec(url)?.[1];
  if (verb === "countTokens") { res.writeHead(200, { "content-type": "application/json" }); return res.end(JSON.stringify({ totalTokens: 1000 })); }
  const msgs = (body.contents ?? []).flatMap(c => {
    const fr = (c.parts ?? []).filter(p => p.functionResponse), rest = (c.parts ?? []).filter(p => !p.functionResponse);
    const a = fr.map(p => ({ role: "tool", text: JSON.stringify(p.functionResponse.response) }));
    if (rest.length) a.push({ role: c.role === "model" ? "assistant" : "user", text: rest.map(p => p.text ?? "").join("\n"), parts: kinds(rest) });
    return a;
  });
  const tools = (body.tools ?? []).flatMap(t => t.functionDeclarations ?? []);
  const st = plan(msgs, tools.length > 0); n++;
  if (st.op === "model") { st.op = "text"; st.arg = `model=${model} tools=${tools.map(t => t.name).join(",")}`; }
  const sse = verb === "streamGenerateContent";
  if (await special(st, res, "gemini", sse)) return;
  const usageMetadata = { promptTokenCount: 1000 + n, candidatesTokenCount: 20, totalTokenCount: 1020 + n, cachedContentTokenCount: 300, thoughtsTokenCount: thoughts(st).length };
  const calls = st.op === "call" ? st.calls : [], txt = st.op === "call" ? (st.say ? [st.say] : []) : pieces(st), th = thoughts(st);
  if (st.op === "aux" && body.generationConfig?.responseMimeType === "application/json") { txt.length = 0; txt.push(JSON.stringify({ reasoning: "fake", next_speaker: "user", model_choice: "flash", complexity_score: 10, complexity_reasoning: "fake", confidence: 0, corrected_string_escaping: "" })); }
  const parts = [...th.map(t => ({ text: `**Fake subject** ${t}`, thought: true })), ...txt.map(t => ({ text: t })), ...calls.map((c, i) => ({ functionCall: { id: `call_${n}_${i}`, name: c.name, args: c.args } }))];
  const mk = (ps, fin) => ({ candidates: [{ index: 0, content: { role: "model", parts: ps }, ...(fin ? { finishReason: "STOP" } : {}) }], modelVersion: model, responseId: "r" + n, ...(fin ? { usageMetadata } : {}) });
  if (!sse) { res.writeHead(200, { "content-type": "application/json" }); return res.end(JSON.stringify(mk(parts, true))); }
  res.writeHead(200, { "content-type": "text/event-stream" });
  for (let i = 0; i < parts.length; i++) { res.write("data: " + JSON.stringify(mk([parts[i]], i === parts.length - 1)) + "\r\n\r\n"); await sleep(delay(st)); if (res.destroyed) return; if (st.op === "errmid") return res.destroy(); }
  res.end();
}

const srv = http.createServer((req, res) => {
  let b = ""; req.setEncoding("utf8"); req.on("data", d => b += d); req.on("end", async () => {
    let body = {}; try { body = b ? JSON.parse(b) : {}; } catch { /* keep {} */ }
    log({ t: Date.now(), m: req.method, url: req.url, model: body.model, key: req.headers.authorization ?? null, body });
    res.on("close", () => { if (!res.writableEnded) log({ t: Date.now(), closed: req.url }); });
    try {
      if (/\/chat\/completions/.test(req.url)) return await chat(body, res);
      if (/\/responses/.test(req.url)) return await responses(body, res);
      if (/:(generateContent|streamGenerateContent|countTokens)/.test(req.url)) return await gemini(req.url, body, res);
      if (/\/models/.test(req.url)) { res.writeHead(200, { "content-type": "application/json" }); return res.end(JSON.stringify({ object: "list", data: ["fake-model", "fake-model-2"].map(id => ({ id, object: "model", created: 1, owned_by: "fake", context_length: 128000 })), models: [] })); }
      res.writeHead(404, { "content-type": "application/json" }); res.end('{"error":{"message":"not found"}}');
    } catch (e) { log({ fail: String(e?.stack) }); if (!res.headersSent) res.writeHead(500); res.end(); }
  });
});
srv.listen(PORT, "127.0.0.1", () => console.log(JSON.stringify({ port: srv.address().port, pid: process.pid })));
