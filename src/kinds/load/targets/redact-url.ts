/** A target's URL for people: no password, no token. */
const secretName = /pass|pwd|secret|token|key|auth|credential/i;

export function redactUrl(text: string): string {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    return "(not a URL)"; // Whatever it is, it may have a password in it.
  }
  if (url.password !== "") url.password = "***";
  for (const name of [...url.searchParams.keys()]) {
    if (secretName.test(name)) url.searchParams.set(name, "***");
  }
  return url.href;
}
