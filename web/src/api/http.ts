/**
 * Requests to the API that served this page. The token, if needed, is in session storage: it is
 * gone with the tab. It is sent only as a header, never in an address.
 */
/** Where in a statement an error is, both counted from 1. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

export interface ErrorPlace {
  readonly position?: TextPosition | undefined;
  /** Of several, which one; counted from 1. */
  readonly statement?: number | undefined;
}

const tokenKey = "capstan-token";

/**
 * The API refused, or could not be reached (`code` is `unreachable`). Both are shown to the user.
 */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: string;
  readonly status: number;
  readonly hint: string | undefined;
  readonly place: ErrorPlace;

  constructor(
    code: string,
    message: string,
    status: number,
    hint?: string,
    place: ErrorPlace = {},
  ) {
    super(message);
    this.code = code;
    this.status = status;
    this.hint = hint;
    this.place = place;
  }
}

export function storedToken(): string | undefined {
  return sessionStorage.getItem(tokenKey) ?? undefined;
}

export function storeToken(token: string): void {
  sessionStorage.setItem(tokenKey, token);
}

/** Resolves with a response whose status is a success; throws `ApiError` for everything else. */
export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  const token = storedToken();
  if (token !== undefined) headers.set("authorization", `Bearer ${token}`);
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers, cache: "no-store" });
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw new ApiError("unreachable", "The coordinator does not answer.", 0, "Is it running?");
  }
  if (!response.ok) throw await errorOf(response);
  return response;
}

/** Returns the body. Throws like `request`. */
export async function readJson<T>(path: string, init?: RequestInit): Promise<T> {
  return (await (await request(path, init)).json()) as T;
}

/** A page of a list; the token, if any, requests the next page. */
export interface ListPage<T> {
  readonly items: readonly T[];
  readonly next_page_token: string | null;
}

async function errorOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => ({}))) as ErrorPlace &
    Partial<Record<"code" | "message" | "hint" | "errorType" | "error", string>>;
  return new ApiError(
    body.code ?? body.errorType ?? "http_error",
    body.message ?? body.error ?? `The API answered ${response.status} ${response.statusText}.`,
    response.status,
    body.hint,
    { position: body.position, statement: body.statement },
  );
}
