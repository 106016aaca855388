/**
 * What the addresses of all targets have in common. No error has the text in it, or a cause that
 * has: there may be a password.
 */
import { OperatingError } from "../../../ground/kernel/errors.ts";

/** How a kind's addresses are called, begin, and look. */
export interface UrlForm {
  /** With its article: `a Postgres`. */
  readonly name: string;
  readonly schemes: readonly string[];
  readonly hint: string;
}

export class TargetUrl {
  readonly scheme: string;
  /** Without the brackets of an IPv6 address. */
  readonly host: string;
  readonly port: string;
  readonly user: string;
  readonly password: string;
  /** As it was written, percent signs and all. */
  readonly rawPath: string;
  readonly path: string;
  readonly #form: UrlForm;
  readonly #settings: Map<string, string>;

  constructor(text: string, form: UrlForm) {
    this.#form = form;
    let url: URL;
    try {
      url = new URL(text);
      this.user = decodeURIComponent(url.username);
      this.password = decodeURIComponent(url.password);
      this.path = decodeURIComponent(url.pathname);
    } catch {
      throw this.refusal("it is no URL");
    }
    this.scheme = url.protocol.slice(0, -1);
    if (!form.schemes.includes(this.scheme)) throw this.refusal(`it begins with ${url.protocol}`);
    if (url.hash !== "") throw this.refusal("there is a # in it");
    this.host = hostOf(url);
    this.port = url.port;
    this.rawPath = url.pathname;
    this.#settings = new Map(url.searchParams);
  }

  /** Each setting that a kind knows is taken; see `checkSettings`. */
  take(name: string): string | undefined {
    const value = this.#settings.get(name);
    this.#settings.delete(name);
    return value;
  }

  takeOneOf<T extends string>(name: string, known: readonly T[], usual: T): T {
    const text = this.take(name) ?? usual;
    const value = known.find((each) => each === text);
    if (value === undefined) throw this.refusal(`${name} is one of ${known.join(", ")}`);
    return value;
  }

  /** What nobody took is not known. */
  checkSettings(): void {
    const [unknown] = this.#settings.keys();
    if (unknown !== undefined) throw this.refusal(`there is no setting ${unknown}`);
  }

  refusal(why: string): OperatingError {
    const { name, hint } = this.#form;
    return new OperatingError("bad_request", "never", `not ${name} URL: ${why}`, { hint });
  }
}

export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, "$1");
}

/** As it stands in a URL. */
export function bracketed(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
