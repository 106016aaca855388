/**
 * An operation's statement as a request: `GET /path?query=:q`, or `POST /path`, perhaps header
 * lines and an empty line, and a body. A value in the request line or in a form is URL-encoded; in
 * a body of another type, JSON; in a header, as it is.
 */
import { OperatingError } from "../../../../ground/kernel/errors.ts";
import type { OperationStatement, ParameterValue } from "../../core/operation.ts";

export interface RequestTemplate {
  readonly method: string;
  render(values: readonly ParameterValue[]): RenderedRequest;
}

export interface RenderedRequest {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

type Encode = (value: ParameterValue) => string;
/** Texts and encoded values by turns. */
type Piece = string | { readonly index: number; readonly encode: Encode };

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/**
 * No value of a person's begins with it: it only stands for parameters while the text is taken
 * apart.
 */
const mark = "\uE000";

/** Throws `bad_sql`. */
export function parseRequest(statement: OperationStatement): RequestTemplate {
  if (statement.texts.some((text) => text.includes(mark))) throw refusal("there is a U+E000 in it");
  const whole = statement.texts.join(mark).trimStart();
  const { line, headerLines, body } = split(whole);
  const found = /^([A-Z]+) +(\/\S*)( +HTTP\/1\.1)?$/.exec(encodeSpaces(line));
  const method = found?.[1] ?? "";
  if (found === null || !methods.includes(method)) {
    throw refusal("its first line is not METHOD /path");
  }
  const headers = headerLines.map(parseHeader);
  const type = headers.find(([name]) => name === "content-type")?.[1];
  const contentType = type ?? (/^[[{]/.test(body) ? "application/json" : formType);
  const isForm = contentType.startsWith(formType);
  let used = 0;
  const piecesOf = (text: string, encode: Encode): Piece[] => {
    const pieces: Piece[] = [];
    for (const [at, part] of text.split(mark).entries()) {
      if (at > 0) {
        pieces.push({ index: statement.parameters[used] ?? -1, encode });
        used += 1;
      }
      pieces.push(part);
    }
    return pieces;
  };
  const path = piecesOf(found[2] ?? "", urlText);
  const headerPieces = headers.map(([name, text]) => [name, piecesOf(text, headerText)] as const);
  const bodyPieces = piecesOf(body, isForm ? urlText : JSON.stringify);
  return {
    method,
    render: (values) => {
      const rendered: Record<string, string> = {};
      for (const [name, pieces] of headerPieces) rendered[name] = join(pieces, values);
      if (body !== "" && type === undefined) rendered["content-type"] = contentType;
      return { path: join(path, values), headers: rendered, body: join(bodyPieces, values) };
    },
  };
}

const formType = "application/x-www-form-urlencoded";

/**
 * Lines before the first empty one are headers, if they all look like one; otherwise all but the
 * first is the body.
 */
function split(whole: string): { line: string; headerLines: string[]; body: string } {
  const [line = "", ...rest] = whole.split(/\r?\n/);
  const empty = rest.indexOf("");
  const end = empty === -1 && !/^(GET|HEAD) /.test(line) ? 0 : empty;
  const headerLines = end === -1 ? rest : rest.slice(0, end);
  if (end === 0 || !headerLines.every((each) => /^[A-Za-z0-9-]+:/.test(each))) {
    return { line: line.trimEnd(), headerLines: [], body: rest.join("\n").trim() };
  }
  const body = end === -1 ? "" : rest.slice(end + 1).join("\n");
  return { line: line.trimEnd(), headerLines, body: body.trim() };
}

function parseHeader(text: string): readonly [name: string, value: string] {
  const colon = text.indexOf(":");
  const name = text.slice(0, colon).toLowerCase();
  if (["host", "content-length", "transfer-encoding", "connection"].includes(name)) {
    throw refusal(`the header ${name} is not yours to set`);
  }
  return [name, text.slice(colon + 1).trim()];
}

/**
 * So that PromQL can be written as it is read: `GET /api/v1/query?query=rate(x[5m]) + 1`. Then a
 * `+` is a plus, not a space.
 */
function encodeSpaces(line: string): string {
  const method = /^[A-Z]+ +/.exec(line)?.[0] ?? "";
  const version = / +HTTP\/1\.1$/.exec(line)?.[0] ?? "";
  const target = line.slice(method.length, line.length - version.length);
  const encoded = target.replace(/[^\uE000!#$&-;=?-Z_a-z~%[\]]/gu, encodeURIComponent);
  return `${method}${encoded === target ? target : encoded.replaceAll("+", "%2B")}${version}`;
}

function join(pieces: readonly Piece[], values: readonly ParameterValue[]): string {
  let text = "";
  for (const piece of pieces) {
    text += typeof piece === "string" ? piece : piece.encode(values[piece.index] ?? null);
  }
  return text;
}

function urlText(value: ParameterValue): string {
  return value === null ? "" : encodeURIComponent(String(value));
}

/** What could end the line is left out. */
function headerText(value: ParameterValue): string {
  return value === null ? "" : String(value).replace(/[^\x20-\x7e]/g, "");
}

function refusal(message: string): OperatingError {
  return new OperatingError("bad_sql", "never", message);
}
