/** `sqlite:///path/of/file?setting=…` and the like: an absolute path, and settings that the kind knows. */
import { OperatingError } from "../../kernel/errors.ts";

export interface FileUrl {
  readonly path: string;
  readonly settings: ReadonlyMap<string, string>;
}

export function parseFileUrl(
  scheme: string,
  text: string,
  known: Readonly<Record<string, RegExp>>,
): FileUrl {
  const refusal = (why: string): OperatingError =>
    new OperatingError("bad_request", "never", `not a ${scheme} URL: ${why}`, {
      hint: `${scheme}:///path/of/the/file`,
    });
  let url: URL;
  let path: string;
  try {
    url = new URL(text);
    path = decodeURIComponent(url.pathname);
  } catch {
    throw refusal("it is no URL");
  }
  if (url.protocol !== `${scheme}:`) throw refusal(`it begins with ${url.protocol}`);
  if (url.host !== "" || url.username !== "") throw refusal("a file has no host");
  if (!path.startsWith("/") || path.endsWith("/") || path.includes("\0")) {
    throw refusal("there is no absolute path of a file in it");
  }
  const settings = new Map(url.searchParams);
  for (const [name, value] of settings) {
    const form = Object.hasOwn(known, name) ? known[name] : undefined;
    if (form === undefined) throw refusal(`there is no setting ${name}`);
    if (!form.test(value)) throw refusal(`${name} cannot be that`);
  }
  return { path, settings };
}
