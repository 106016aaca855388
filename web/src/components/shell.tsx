/** What surrounds every page: navigation, connection, shortcuts. */
import { AppShell, Burger } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { type RefObject, useEffect, useRef } from "react";
import { Link, matchPath, Outlet, useLocation, useNavigate } from "react-router";
import { type Page, pages } from "../pages/index.ts";
import { Announcer } from "./announcer.tsx";
import { ColorSchemeControl, useColorSchemeToggle } from "./color-scheme-control.tsx";
import { ConnectionBanner, ConnectionSign } from "./connection.tsx";
import { Logo } from "./logo.tsx";
import { Keys, type Shortcut, ShortcutHelp, useShortcuts } from "./shortcuts.tsx";
import { ChangeTokenButton, TokenPrompt } from "./token-prompt.tsx";

export function Shell() {
  const [navOpened, nav] = useDisclosure(false);
  const [helpOpened, help] = useDisclosure(false);
  const shortcuts = usePageShortcuts(help.open);
  useShortcuts(shortcuts);
  const main = useRef<HTMLElement>(null);
  useArrival(main, nav.close);
  return (
    <AppShell
      header={{ height: { base: 50, sm: 0 } }}
      navbar={{ width: 208, breakpoint: "sm", collapsed: { mobile: !navOpened } }}
    >
      <a className="skip-link" href="#main">
        Skip to the content
      </a>
      <AppShell.Header className="topbar" hiddenFrom="sm">
        <Burger size="sm" opened={navOpened} onClick={nav.toggle} aria-label="Navigation" />
        <Brand />
      </AppShell.Header>
      <AppShell.Navbar className="sidebar" aria-label="Main">
        <div className="mantine-visible-from-sm">
          <Brand />
        </div>
        {pages.map((page) => (
          <NavItem key={page.href} page={page} />
        ))}
        <div className="sidebar-foot">
          <ConnectionSign />
          <ChangeTokenButton />
          <ColorSchemeControl />
          <button type="button" className="quiet" onClick={help.open}>
            Keyboard shortcuts <Keys keys="?" />
          </button>
        </div>
      </AppShell.Navbar>
      <AppShell.Main id="main" ref={main} tabIndex={-1}>
        <ConnectionBanner />
        <Outlet />
      </AppShell.Main>
      <ShortcutHelp
        shortcuts={[...shortcuts, { keys: "Ctrl Enter", does: "Run the SQL statement" }]}
        opened={helpOpened}
        onClose={help.close}
      />
      <TokenPrompt />
      <Announcer />
    </AppShell>
  );
}

function Brand() {
  return (
    <Link to="/" className="brand">
      <Logo />
      Capstan
    </Link>
  );
}

function NavItem({ page }: { readonly page: Page }) {
  const { pathname } = useLocation();
  const Icon = page.icon;
  const current = matchPath(page.path, pathname) !== null;
  return (
    <Link to={page.href} className="nav-item" {...(current && { "aria-current": "page" })}>
      <Icon size={17} stroke={1.7} />
      {page.title}
      <span className="nav-keys" aria-hidden="true">
        {page.keys}
      </span>
    </Link>
  );
}

function usePageShortcuts(openHelp: () => void): readonly Shortcut[] {
  const navigate = useNavigate();
  const toggleColorScheme = useColorSchemeToggle();
  return [
    ...pages.map(({ keys, title, href }) => ({
      keys,
      does: `Go to ${title}`,
      run: () => void navigate(href),
    })),
    { keys: "/", does: "Go to the page's main field", run: focusMainField },
    { keys: "t", does: "Switch between light and dark", run: toggleColorScheme },
    { keys: "?", does: "Show these shortcuts", run: openHelp },
  ];
}

function focusMainField(): void {
  document.querySelector<HTMLElement>("[data-main-field]")?.focus();
}

/**
 * Puts the page's name into the title, and focuses the page, so that a screen reader continues
 * there.
 */
function useArrival(main: RefObject<HTMLElement | null>, closeNav: () => void): void {
  const { pathname } = useLocation();
  const page = pages.find(({ path }) => matchPath(path, pathname) !== null);
  const title = page?.title ?? "Not found";
  const before = useRef(title);
  useEffect(() => {
    document.title = `${title} · Capstan`;
    if (title === before.current) return;
    before.current = title;
    closeNav();
    main.current?.focus();
    window.scrollTo(0, 0);
  }, [title, closeNav, main]);
}
