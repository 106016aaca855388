/** A server-sent stream, kept open by a link. */
import { request } from "./http.ts";
import { type Dialled, Link, type LinkOptions } from "./link.ts";
import { type SseEvent, SseParser } from "./sse.ts";

export interface SubscriptionOptions extends Omit<LinkOptions, "dial"> {
  /** Asked before every dial, so that it can name the last revision seen. */
  readonly path: () => string;
  readonly onEvent: (event: SseEvent) => void;
}

export class Subscription extends Link {
  constructor(options: SubscriptionOptions) {
    super({ ...options, dial: (dialled) => readStream(options, dialled) });
  }
}

async function readStream(
  { path, onEvent }: SubscriptionOptions,
  { signal, opened, heard }: Dialled,
): Promise<never> {
  const response = await request(path(), { signal, headers: { accept: "text/event-stream" } });
  opened();
  const parser = new SseParser();
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const chunk = await reader?.read();
    if (chunk === undefined || chunk.done) throw new Error("The stream ended.");
    heard();
    for (const event of parser.push(chunk.value)) onEvent(event);
  }
}
