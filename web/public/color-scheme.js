// Runs before the first paint, so that a remembered dark theme does not flash light. It is a file
// of its own, and not inline, because the page is served with a content security policy of
// `script-src 'self'`.
(() => {
  let scheme = "auto";
  try {
    scheme = localStorage.getItem("capstan-color-scheme") ?? "auto";
  } catch {
    // Storage may be forbidden; the system's preference is then as good as it gets.
  }
  const dark =
    scheme === "dark" || (scheme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
  document.documentElement.setAttribute("data-mantine-color-scheme", dark ? "dark" : "light");
})();
