package board;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.SQLException;
import java.sql.SQLTransientException;
import java.util.NoSuchElementException;
import java.util.concurrent.ThreadLocalRandom;
import javax.naming.InitialContext;
import javax.naming.NamingException;
import javax.sql.DataSource;

/**
 * The bulletin board for those who read: eleven of its 24 interactions, over the
 * tables that {@code scalebench board load} makes. Pages, links and parameters are
 * those of {@code scalebench board}, so that the same users visit both.
 */
public final class Board extends HttpServlet {
  private static final long serialVersionUID = 1;

  /** A list has so many entries. */
  static final int PAGE_SIZE = 25;

  private static final int MAX_PAGE = 1000;

  private transient DataSource database;

  @Override
  public void init() throws ServletException {
    try {
      database = (DataSource) new InitialContext().lookup("java:comp/env/jdbc/board");
    } catch (NamingException e) {
      throw new ServletException("server.xml has no Resource jdbc/board", e);
    }
  }

  @Override
  protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
    Page page = new Page();
    try {
      answer(request, page);
    } catch (IllegalArgumentException e) {
      page = refuse(response, 400, e.getMessage());
    } catch (NoSuchElementException e) {
      page = refuse(response, 404, e.getMessage());
    } catch (SQLException e) {
      log(request.getRequestURI(), e);
      page = refuse(response, e instanceof SQLTransientException ? 503 : 500, "the database: " + e.getMessage());
    }
    byte[] body = page.toString().getBytes(StandardCharsets.UTF_8);
    response.setContentType("text/html; charset=utf-8");
    response.setContentLength(body.length);
    response.getOutputStream().write(body);
  }

  private static Page refuse(HttpServletResponse response, int status, String text) {
    response.setStatus(status);
    return new Page().begin("Error " + status).element("p", text).end();
  }

  private void answer(HttpServletRequest request, Page page) throws SQLException {
    switch (request.getServletPath()) {
      case "/Browse" -> browse(page);
      case "/Search" -> search(page);
      default -> {
        // One connection for all queries of a page, as long as they take.
        try (Queries db = new Queries(database.getConnection())) {
          answer(request, page, db);
        }
      }
    }
  }

  private static void answer(HttpServletRequest request, Page page, Queries db) throws SQLException {
    boolean old = "1".equals(request.getParameter("old"));
    Stories stories = new Stories(page, db, old);
    Comments comments = new Comments(page, db, old);
    Searches searches = new Searches(page, db);
    switch (request.getServletPath()) {
      case "/", "", "/StoriesOfTheDay" -> stories.ofTheDay();
      case "/BrowseCategories" -> stories.categories();
      case "/BrowseStoriesInCategory" -> stories.inCategory(number(request, "category"), turned(request));
      case "/OlderStories" -> stories.older(turned(request));
      case "/ViewStory" -> stories.view(number(request, "story"), comments);
      case "/ViewComment" -> comments.view(number(request, "story"), number(request, "comment"));
      case "/SearchInStories" -> searches.stories(text(request, "search"), turned(request));
      case "/SearchInComments" -> searches.comments(text(request, "search"), turned(request));
      case "/SearchInUsers" -> searches.users(text(request, "search"), turned(request));
      case "/_board/health" -> {
        db.one("there is no board", "SELECT name FROM categories WHERE id = ?", row -> {}, 1L);
        page.begin("Well").end();
      }
      default -> throw new NoSuchElementException("there is no such page; this application serves readers only");
    }
  }

  private static void browse(Page page) {
    page.begin("Browse")
        .link("BrowseCategories", "Stories by category")
        .link("OlderStories", "Older stories")
        .link("StoriesOfTheDay", "Stories of the day")
        .end();
  }

  private static void search(Page page) {
    page.begin("Search");
    ThreadLocalRandom random = ThreadLocalRandom.current();
    page.searchForm("SearchInStories", "Titles of stories that begin with", Searches.word(random.nextInt(1000)));
    page.searchForm("SearchInComments", "Subjects of comments that begin with", Searches.word(random.nextInt(1000)));
    page.searchForm("SearchInUsers", "Nicknames that begin with", "user" + (1 + random.nextInt(99)));
    page.end();
  }

  private static String text(HttpServletRequest request, String name) {
    String value = request.getParameter(name);
    if (value == null || value.isEmpty() || value.length() > 100) {
      throw new IllegalArgumentException("\"" + name + "\" must have from 1 to 100 characters");
    }
    return value;
  }

  private static long number(HttpServletRequest request, String name) {
    try {
      return Long.parseLong(request.getParameter(name));
    } catch (NumberFormatException e) {
      throw new IllegalArgumentException("\"" + name + "\" must be a number", e);
    }
  }

  /** How often a list was turned: its page, from 0. */
  private static int turned(HttpServletRequest request) {
    if (request.getParameter("page") == null) {
      return 0;
    }
    return (int) Math.max(0, Math.min(MAX_PAGE, number(request, "page")));
  }
}
