/**
 * A browser under LANG=C says that its language is "C" or "en-US@posix", which Intl refuses. uPlot
 * makes a number format of it when it is loaded, and the page with it would fail. Imported before
 * everything else.
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
