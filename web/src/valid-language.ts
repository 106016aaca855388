/**
 * Under LANG=C a browser reports its language as "C" or "en-US@posix", which Intl refuses. uPlot
 * creates a number format from it on load, and the page would fail. Import this before everything
 * else.
 */
export function validLanguage(language: string): string {
  try {
    return Intl.getCanonicalLocales(language)[0] ?? "en-US";
  } catch {
    return "en-US";
  }
}

if (typeof navigator !== "undefined" && validLanguage(navigator.language) !== navigator.language) {
  const value = validLanguage(navigator.language);
  Object.defineProperty(navigator, "language", { value, configurable: true });
}
