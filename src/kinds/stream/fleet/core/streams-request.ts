/** What a worker and a coordinator say to each other about rows of streams of the system. */
import type { AskedRows, SystemRows } from "../../run/core/index.ts";

export type StreamsAnswer =
  | SystemRows
  | { readonly error: { readonly retry: "never" | "backoff"; readonly message: string } };

const prefix = "/streams/system/";

export function streamsPath({ stream, after }: AskedRows): string {
  const query = after === undefined ? "" : `?after=${encodeURIComponent(after)}`;
  return `${prefix}${encodeURIComponent(stream)}${query}`;
}

/** `undefined`: the path asks for something else. */
export function askedRowsOf(path: string): AskedRows | undefined {
  const [place = "", query = ""] = path.split("?");
  const stream = place.slice(prefix.length);
  if (!place.startsWith(prefix) || !/^[a-z_]{1,64}$/.test(stream)) return undefined;
  const after = /^after=([\w%:.-]{1,200})$/.exec(query)?.[1];
  return { stream, after: after === undefined ? undefined : decodeURIComponent(after) };
}
