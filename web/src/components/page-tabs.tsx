/** Links between the parts of a page, beside its title. */
import { Link } from "react-router";

interface PageTab {
  readonly title: string;
  readonly href: string;
}

interface PageTabsProps {
  readonly label: string;
  readonly tabs: readonly PageTab[];
  /** The title of the part that is shown. */
  readonly current: string;
}

export function PageTabs({ label, tabs, current }: PageTabsProps) {
  return (
    <nav className="page-tabs" aria-label={label}>
      {tabs.map(({ title, href }) => (
        <Link
          key={href}
          to={href}
          className="page-tab"
          {...(title === current && { "aria-current": "page" as const })}
        >
          {title}
        </Link>
      ))}
    </nav>
  );
}
