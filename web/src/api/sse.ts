/** Server-sent events read from a `fetch` body: unlike `EventSource`, that can carry a token. */
export interface SseEvent {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: string;
}

/** Turns text, cut anywhere, into events. Comments (keep-alives) yield nothing. */
export class SseParser {
  #rest = "";

  push(text: string): readonly SseEvent[] {
    const blocks = (this.#rest + text).split(/\r\n\r\n|\n\n/);
    this.#rest = blocks.pop() ?? "";
    return blocks.flatMap((block) => parseBlock(block) ?? []);
  }
}

function parseBlock(block: string): SseEvent | undefined {
  let event = "message";
  let id: string | undefined;
  const data: string[] = [];
  for (const line of block.split(/\r\n|\n/)) {
    const colon = line.indexOf(":");
    if (colon <= 0) continue;
    const value = line.slice(colon + 1).replace(/^ /, "");
    const field = line.slice(0, colon);
    if (field === "event") event = value;
    else if (field === "id") id = value;
    else if (field === "data") data.push(value);
  }
  return data.length === 0 ? undefined : { event, id, data: data.join("\n") };
}
