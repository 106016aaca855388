import { ApiError, request } from "./http.ts";
import { SqlResultReader } from "./sql-result.ts";

/** Runs a text of statements. Throws `ApiError` when it is refused or fails. */
export async function runStatement(sql: string, signal?: AbortSignal): Promise<SqlResultReader> {
  const response = await request("/api/v1/sql", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ sql }),
    ...(signal && { signal }),
  });
  const reader = new SqlResultReader();
  reader.push(await response.text());
  reader.end();
  const { failure } = reader;
  if (failure !== undefined) throw new ApiError(failure.code, failure.message, 200, failure.hint);
  return reader;
}
