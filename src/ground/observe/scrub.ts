/**
 * Removes secrets from log lines (OB2): every registered secret, the values of Authorization
 * headers, and passwords in URLs, of which the host stays.
 */
const lengthMin = 8;

export class Scrubber {
  readonly #secrets = new Set<string>();

  /** A shorter secret is not replaced, because it would match ordinary words. */
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
