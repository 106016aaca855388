/** Run by `browser.ts` with TMPDIR set: the package unpacks into whatever that names. */
import chromium from "@sparticuz/chromium";

await chromium.executablePath();
