/** Addresses of the Streams page. */
import type { StreamQuery } from "../../api/gen/types.ts";

/** A name is nobody's while another query waits for it; then the id says which one is meant. */
export function queryKey({
  query_id,
  name,
  superseded_by,
}: Pick<StreamQuery, "query_id" | "name" | "superseded_by">): string {
  return superseded_by === null ? (name ?? query_id) : query_id;
}

export function queryPath(key: string): string {
  return `/streams/queries/${encodeURIComponent(key)}`;
}
