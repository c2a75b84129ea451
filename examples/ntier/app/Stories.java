package board;

import java.sql.SQLException;

/** Pages that list stories, and the page of one. */
final class Stories {
  private static final String LATEST =
      "SELECT s.id, s.title, s.body, s.date, u.nickname FROM stories s JOIN users u ON u.id = s.writer"
          + " ORDER BY s.date DESC, s.id DESC LIMIT 10";
  private static final String CATEGORIES = "SELECT id, name FROM categories ORDER BY name";
  private static final String CATEGORY = "SELECT name FROM categories WHERE id = ?";
  private static final String IN_CATEGORY =
      "SELECT s.id, s.title, s.date, u.nickname FROM stories s JOIN users u ON u.id = s.writer"
          + " WHERE s.category = ? ORDER BY s.date DESC, s.id DESC LIMIT ? OFFSET ?";
  private static final String OLDER =
      "SELECT s.id, s.title, s.date, u.nickname FROM old_stories s JOIN users u ON u.id = s.writer"
          + " ORDER BY s.date DESC, s.id DESC LIMIT ? OFFSET ?";
  private static final String ONE =
      "SELECT s.title, s.body, s.date, u.nickname FROM %sstories s JOIN users u ON u.id = s.writer WHERE s.id = ?";

  private final Page page;
  private final Queries db;
  private final boolean old;

  Stories(Page page, Queries db, boolean old) {
    this.page = page;
    this.db = db;
    this.old = old;
  }

  void ofTheDay() throws SQLException {
    page.begin("Stories of the day");
    db.each(LATEST, row -> page.element("h2", row.getString(2))
        .byline(row.getString(5), row.getLong(4))
        .element("p", row.getString(3))
        .link("ViewStory", "Read and comment", reference(false, row.getLong(1))));
    page.end();
  }

  void categories() throws SQLException {
    page.begin("Categories");
    db.each(CATEGORIES, row -> page.link("BrowseStoriesInCategory", row.getString(2), "category", row.getLong(1)));
    page.end();
  }

  void inCategory(long category, int turned) throws SQLException {
    db.one("there is no such category", CATEGORY, row -> page.begin(row.getString(1)), category);
    int shown = db.each(IN_CATEGORY, row -> title(false, row.getLong(1), row.getString(2), row.getString(4), row.getLong(3)),
        category, Board.PAGE_SIZE, turned * Board.PAGE_SIZE);
    if (shown == Board.PAGE_SIZE) {
      page.link("BrowseStoriesInCategory", "Next page", "category", category, "page", turned + 1);
    }
    page.end();
  }

  void older(int turned) throws SQLException {
    page.begin("Older stories");
    int shown = db.each(OLDER, row -> title(true, row.getLong(1), row.getString(2), row.getString(4), row.getLong(3)),
        Board.PAGE_SIZE, turned * Board.PAGE_SIZE);
    if (shown == Board.PAGE_SIZE) {
      page.link("OlderStories", "Next page", "page", turned + 1);
    }
    page.end();
  }

  void view(long story, Comments comments) throws SQLException {
    db.one("there is no such story", ONE.formatted(old ? "old_" : ""), row -> page.begin(row.getString(1))
        .byline(row.getString(4), row.getLong(3))
        .element("p", row.getString(2)), story);
    comments.ofStory(story);
    page.end();
  }

  private void title(boolean isOld, long id, String title, String writer, long date) {
    page.link("ViewStory", title, reference(isOld, id)).byline(writer, date);
  }

  /** Parameters of a link to a story. */
  static Object[] reference(boolean old, long story) {
    return old ? new Object[] {"story", story, "old", 1} : new Object[] {"story", story};
  }
}
