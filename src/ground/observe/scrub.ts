/**
 * The last door before a log: what is known to be secret does not pass it, whatever message it sits in.
 *
 *   SC1  No line contains a secret that was registered, or the value of an Authorization header.
 *   SC2  A URL keeps its host and loses its password.
 */
const lengthMin = 8;

export class Scrubber {
  readonly #secrets = new Set<string>();

  /** Shorter ones are not replaced: they would eat ordinary words. */
  add(secret: string | undefined): void {
    if (secret === undefined || secret.length < lengthMin) return;
    this.#secrets.add(secret);
    this.#secrets.add(JSON.stringify(secret).slice(1, -1));
    this.#secrets.add(encodeURIComponent(secret));
  }

  scrub(line: string): string {
    let clean = line;
    for (const secret of this.#secrets) clean = clean.replaceAll(secret, "[redacted]");
    return clean
      .replace(/\b(Bearer|Basic) +[A-Za-z0-9._~+/=-]{8,}/gi, "$1 [redacted]")
      .replace(/([a-z][a-z0-9+.-]*:\/\/[^\s:/@"]*):[^\s/@"]+@/gi, "$1:[redacted]@");
  }
}
