package board;

import java.sql.ResultSet;
import java.sql.SQLException;

/** Comments of stories, current or old ones, and answers to them. */
final class Comments {
  private static final String OF_STORY =
      "SELECT c.id, c.subject, c.body, c.date, c.rating, c.childs, u.nickname FROM %scomments c"
          + " JOIN users u ON u.id = c.writer WHERE c.story_id = ? AND c.parent = ? ORDER BY c.id LIMIT 50";
  private static final String ONE =
      "SELECT c.id, c.subject, c.body, c.date, c.rating, c.childs, u.nickname FROM %scomments c"
          + " JOIN users u ON u.id = c.writer WHERE c.story_id = ? AND c.id = ?";

  private final Page page;
  private final Queries db;
  private final boolean old;

  Comments(Page page, Queries db, boolean old) {
    this.page = page;
    this.db = db;
    this.old = old;
  }

  /** The comments of a story that answer no other. */
  void ofStory(long story) throws SQLException {
    under(story, 0);
  }

  void view(long story, long comment) throws SQLException {
    db.one("there is no such comment", query(ONE), row -> {
      page.begin(row.getString(2));
      content(row);
    }, story, comment);
    page.link("ViewStory", "The story", Stories.reference(old, story));
    under(story, comment);
    page.end();
  }

  private void under(long story, long parent) throws SQLException {
    db.each(query(OF_STORY), row -> {
      page.element("h3", row.getString(2));
      content(row);
      page.link("ViewComment", row.getLong(6) + " replies", reference(story, row.getLong(1)));
    }, story, parent);
  }

  private void content(ResultSet row) throws SQLException {
    page.byline(row.getString(7), row.getLong(4))
        .element("p", "Rating: " + row.getLong(5))
        .element("p", row.getString(3));
  }

  private String query(String text) {
    return text.formatted(old ? "old_" : "");
  }

  private Object[] reference(long story, long comment) {
    return old
        ? new Object[] {"story", story, "old", 1, "comment", comment}
        : new Object[] {"story", story, "comment", comment};
  }
}
