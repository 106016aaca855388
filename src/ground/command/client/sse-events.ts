/** Parses server-sent events from lines. */
export interface ReceivedEvent {
  readonly event: string;
  readonly id: string | undefined;
  readonly data: string;
}

export async function* sseEvents(lines: AsyncIterable<string>): AsyncGenerator<ReceivedEvent> {
  let event = "message";
  let id: string | undefined;
  let data: string[] = [];
  for await (const line of lines) {
    if (line === "") {
      if (data.length > 0) yield { event, id, data: data.join("\n") };
      event = "message";
      data = [];
      continue;
    }
    const colon = line.indexOf(":");
    if (colon === 0) continue; // A comment is the server's keep-alive.
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") event = value;
    else if (field === "id") id = value;
    else if (field === "data") data.push(value);
  }
}
